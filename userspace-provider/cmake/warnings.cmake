# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
# What compilers are asked to warn of, in this folder of a project and below it.
include_guard(DIRECTORY)
add_compile_options(-Wall -Wextra)
# What is C here is part of the module, whose own build says what is right in it.
add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-Wpedantic;-Wconversion;-Wshadow>")
