# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# To link a provider for another private ABI than that of the installed libibverbs, the linker needs
# a library that has its symbols with their version. Nobody runs this one: it has no code, its
# soname is libibverbs', and it is not installed.
#
# Sets import_library, the target to link with.
set(declarations ${CMAKE_CURRENT_SOURCE_DIR}/abi/libibverbs_private.hpp)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${declarations})
# What is declared there, and the registration, whose name has the number in it.
file(STRINGS ${declarations} functions REGEX "^(int|void\\*?) _?(ibv_cmd|verbs)_[a-z_]+\\(")
list(TRANSFORM functions REPLACE "^[a-z]+\\*? ([a-z_]+)\\(.*$" "\\1")
list(APPEND functions verbs_register_driver_${private_abi})

set(source "")
set(exported "")
foreach(function IN LISTS functions)
  string(APPEND source ".globl ${function}\n.type ${function}, %function\n${function}:\n")
  string(APPEND exported " ${function};")
endforeach()
string(APPEND source ".section .note.GNU-stack,\"\",%progbits\n")
set(folder ${CMAKE_CURRENT_BINARY_DIR}/libibverbs-${private_abi})
file(CONFIGURE OUTPUT ${folder}/symbols.s CONTENT "${source}" @ONLY)
file(CONFIGURE OUTPUT ${folder}/version.map @ONLY
     CONTENT "IBVERBS_PRIVATE_${private_abi} { global:${exported} local: *; };\n")

enable_language(ASM)
set(import_library ibverbs_private_${private_abi})
add_library(${import_library} SHARED ${folder}/symbols.s)
target_link_options(${import_library} PRIVATE -nostdlib -Wl,--version-script=${folder}/version.map)
set_target_properties(${import_library} PROPERTIES
  LINKER_LANGUAGE C
  OUTPUT_NAME ibverbs
  SOVERSION 1
  LIBRARY_OUTPUT_DIRECTORY ${folder}
  SKIP_BUILD_RPATH ON)
