# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# Sets rdma_core, the rdma-core version to build for, private_abi, the number of its private ABI,
# which follows from it, and installed_private_abi, that of the installed libibverbs.
find_package(PkgConfig REQUIRED)
pkg_check_modules(IBVERBS REQUIRED libibverbs>=1.8.40)

function(private_abi_of version result)
  if(version GREATER_EQUAL 64)
    set(${result} ${version} PARENT_SCOPE)
  elseif(version GREATER_EQUAL 59)
    set(${result} 59 PARENT_SCOPE)
  elseif(version GREATER_EQUAL 57)
    set(${result} 57 PARENT_SCOPE)
  else()
    set(${result} 34 PARENT_SCOPE)
  endif()
endfunction()

# libibverbs' version is 1.<minor>.<rdma-core>.<patch>.
string(REPLACE "." ";" ibverbs_version "${IBVERBS_VERSION}")
list(GET ibverbs_version 2 installed_rdma_core)
set(SOFTRNIC_RDMA_CORE ${installed_rdma_core} CACHE STRING
    "rdma-core version to build for: that of the installed libibverbs, or a later one")
set(rdma_core ${SOFTRNIC_RDMA_CORE})
private_abi_of(${rdma_core} private_abi)
private_abi_of(${installed_rdma_core} installed_private_abi)
