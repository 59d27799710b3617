# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Sets rdma_core, the rdma-core version of the installed libibverbs, and private_abi, the number of
# its private ABI, which follows from it.
find_package(PkgConfig REQUIRED)
pkg_check_modules(IBVERBS REQUIRED libibverbs>=1.8.40)

# libibverbs' version is 1.<minor>.<rdma-core>.<patch>.
string(REPLACE "." ";" ibverbs_version "${IBVERBS_VERSION}")
list(GET ibverbs_version 2 rdma_core)
if(rdma_core GREATER_EQUAL 64)
  set(private_abi ${rdma_core})
elseif(rdma_core GREATER_EQUAL 59)
  set(private_abi 59)
elseif(rdma_core GREATER_EQUAL 57)
  set(private_abi 57)
else()
  set(private_abi 34)
endif()
