# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# For CMake, where programs are built for another processor: builder.sh, which sets this, names the
# compilers.
set(gnu_type $ENV{DEB_HOST_GNU_TYPE})
string(REGEX REPLACE "-.*" "" CMAKE_SYSTEM_PROCESSOR ${gnu_type})
set(CMAKE_SYSTEM_NAME Linux)
# GNUInstallDirs does not find out where Debian has this processor's libraries.
set(CMAKE_INSTALL_LIBDIR lib/${gnu_type} CACHE PATH "Where libraries are installed")
# How unit tests are run.
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-${CMAKE_SYSTEM_PROCESSOR}-static)
# With the address sanitizer GCC's programs in C++ for s390x cannot be linked.
if(CMAKE_SYSTEM_PROCESSOR STREQUAL s390x)
  set(UNIT_TEST_SANITIZERS undefined CACHE STRING "")
  set(PROVIDER_TEST_SANITIZERS undefined CACHE STRING "")
endif()
