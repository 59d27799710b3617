# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# softrnic: every task that a user or developer has is a target here.
# "make help" lists them.

# With RELEASE=trixie everything is for the test machine of that Debian release: it is built in a
# tree of that release, and lies in build/RELEASE. With ARCH=arm64 it is for that processor, in the
# same way, and lies in build/ARCH. On a host of that release and processor, and without RELEASE and
# ARCH, it is built on the host, and lies in build. With FLAVOUR=arm64-16k the kernel is that of
# Debian's linux-image-arm64-16k.
HOST_RELEASE := $(shell . /etc/os-release && echo $$VERSION_CODENAME)
OTHER_RELEASE := $(filter-out $(HOST_RELEASE),$(RELEASE))
OTHER_ARCH := $(filter-out $(shell dpkg --print-architecture),$(ARCH))
B := build$(OTHER_RELEASE:%=/%)$(OTHER_ARCH:%=/%)
MACHINE := scripts/testmachine
IN_RELEASE := $(if $(OTHER_RELEASE)$(OTHER_ARCH),$(MACHINE) in-release)
ifneq ($(OTHER_RELEASE)$(OTHER_ARCH),)
export SRN_RELEASE := $(OTHER_RELEASE)
export SRN_ARCH := $(OTHER_ARCH)
export SRN_BUILD := $(CURDIR)/$(B)
endif
ifneq ($(FLAVOUR),)
export SRN_FLAVOUR := $(FLAVOUR)
endif
ifneq ($(and $(K),$(OTHER_ARCH)),)
$(error debug kernels are not for $(OTHER_ARCH): K= or ARCH=, not both)
endif
# The kernel's own Makefile knows processors by other names.
unexport ARCH
MAKEOVERRIDES := $(filter-out ARCH=%,$(MAKEOVERRIDES))
JOBS ?= 1
FUZZ_SECONDS ?= 60
# Emulation of another processor is slow: "make check" takes these there, if it is not told which.
CHECK_T = $(or $(T),$(if $(OTHER_ARCH),link verbs-library wire perftest races))
# A debug kernel: scripts/debug-kernel has the kinds.
K_OR_UML = $(or $(K),uml)
PREFIX ?= /usr

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

##@ Build

.PHONY: all
all: module provider ## build the kernel module and the provider

# Without KDIR, scripts/kernel-dir chooses: the running kernel if it can.
.PHONY: module
module: $(B)/.deps-build ## build softrnic.ko; KDIR=… for a kernel other than the running one
	@kdir="$(or $(KDIR),$$(scripts/kernel-dir))" && scripts/build-module "$$kdir"

.PHONY: guest-module
guest-module: $(B)/.deps-build machine ## build softrnic.ko for the test machine's kernel
	@kdir=$$(scripts/kernel-dir --guest) && $(IN_RELEASE) scripts/build-module "$$kdir"

.PHONY: debug-module
debug-module: $(B)/.deps-build machine ## build softrnic.ko for a debug kernel, and that kernel once (K=uml, uml-smp, qemu, kcsan or trace)
	@folder=$$(scripts/debug-kernel build $(K_OR_UML)) && scripts/build-module "$$folder/build"

.PHONY: provider
provider: $(B)/.deps-userspace ## build the libibverbs provider, softrnicctl and the library's examples
	@$(IN_RELEASE) scripts/cmake-build userspace-provider $(B)/provider -DCMAKE_INSTALL_PREFIX=$(PREFIX)

.PHONY: tests
tests: provider $(B)/.deps-tests ## build the unit and verbs tests
	@$(IN_RELEASE) scripts/cmake-build tests $(B)/tests

# Those of them that run in the test machine.
.PHONY: guest-tests
guest-tests: provider $(B)/.deps-tests
	@for dir in selftests interop; do \
		$(IN_RELEASE) scripts/cmake-build --only $$dir tests $(B)/tests || exit; \
	done

.PHONY: machine
machine: $(B)/.deps-testmachine$(OTHER_ARCH:%=-%) ## build the test machine, if it is missing or its recipe changed
	@$(MACHINE) build

##@ Use

.PHONY: demo
demo: guest-module provider ## see softrnic at work in the test machine: data, bandwidth, latency
	@scripts/demo

.PHONY: shell
shell: guest-module provider ## a root shell in the test machine with softrnic loaded
	@$(MACHINE) shell

# For another processor they are built on a host that has it.
.PHONY: deb
deb: $(B)/.deps-userspace $(B)/.deps-deb ## build Debian packages in build/deb: module (DKMS), provider, tools, library
	@test -z "$(OTHER_ARCH)" || { echo "no packages for $(OTHER_ARCH) here: make deb builds those of this host"; exit 2; }
	@scripts/deb

.PHONY: install
install: module provider ## install module, provider and softrnicctl on this host (DESTDIR=…, KDIR=…)
	@test -n "$(KDIR)" -o -e "/lib/modules/$$(uname -r)/build" || { \
		echo "no headers of the running kernel: apt install linux-headers-$$(uname -r), or KDIR=…"; \
		exit 1; }
	@kdir="$(or $(KDIR),$$(scripts/kernel-dir))" && scripts/install --destdir "$(DESTDIR)" "$$kdir"

.PHONY: uninstall
uninstall: ## undo "make install" (DESTDIR=…)
	@scripts/uninstall --destdir "$(DESTDIR)"

##@ Test

.PHONY: check
check: check-build ## everything: unit tests, fuzzing, all tests in the test machine (JOBS=2: two at once; RELEASE=trixie or sid; ARCH=arm64: a short set; T='NAME …': not all)
	@JOBS=$(JOBS) FUZZ_SECONDS=$(FUZZ_SECONDS) scripts/run-tests \
		$(if $(CHECK_T),unit guest $(CHECK_T),$(if $(OTHER_RELEASE),machine unit guest))

# RELEASES='trixie sid bookworm/arm64': only those.
.PHONY: check-releases
check-releases: $(B)/.deps-build ## all tests on each Debian release, short sets on arm64; goes on where it stopped (hours; RELEASES='trixie bookworm/arm64': some; JOBS=2)
	@JOBS=$(JOBS) scripts/check-releases $(RELEASES)

# What "make check" needs built.
.PHONY: check-build
check-build: guest-module provider tests $(if $(CHECK_T),$(filter previous-abi,$(CHECK_T)),previous-abi) $(if $(CHECK_T)$(OTHER_RELEASE),,fuzz-build siw-if-there)

# "packages" takes too long to be one of the tests of "make check".
.PHONY: test
test: $(if $(filter packages,$(T)),deb $(B)/.deps-testmachine,$(if $(K),debug-module,guest-module) guest-tests $(filter previous-abi,$(T))) ## tests in the test machine, T='NAME …': of tests/selftests or interop, a single one as it goes (K=uml: debug kernel; RELEASE=trixie; ARCH=arm64; JOBS=2), or packages
	@test -n "$(T)" || { echo "which test? make test T=NAME, one of:"; \
		scripts/run-tests names; exit 2; }
	@SRN_KERNEL=$(or $(K),stock) JOBS=$(JOBS) scripts/run-tests $(if $(word 2,$(T)),,--verbose) \
		$(if $(filter packages,$(T)),packages,guest $(T))

.PHONY: check-debug
check-debug: debug-module tests $(if $(T),$(filter previous-abi,$(T)),previous-abi) ## tests of the test machine on a kernel that sees mistakes (K=uml, uml-smp, qemu, kcsan or trace; T='NAME …': not all)
	@SRN_KERNEL=$(K_OR_UML) scripts/run-tests machine guest $(T)

# Without the variable most tests mean the wire, and those of programs what users get: netns.
.PHONY: check-paths
check-paths: $(if $(K),debug-module,guest-module) tests ## tests of data and of consumers over the path inside one host (K=uml: debug kernel; T='NAME …': some)
	@SRN_SAME_HOST=host SRN_ENV=SRN_SAME_HOST SRN_KERNEL=$(or $(K),stock) scripts/run-tests \
		guest $(or $(T),verbs-library raw races kill removal limits faults scribble fuzz-cm \
			uverbs-fuzz cm-misuse flood churn orphans charged bounded throttled \
			streaming programs nfs nvme iser)

.PHONY: debug-kernel
debug-kernel: ## build a debug kernel, if it is missing or its configuration changed (K=uml, uml-smp, qemu, kcsan or trace)
	@scripts/debug-kernel build $(K_OR_UML) > /dev/null

MINUTES ?= 30
SEED ?= $(shell od -An -N2 -tu2 /dev/urandom | tr -d ' ')
.PHONY: soak
soak: $(if $(K),debug-module,guest-module) tests ## everything at once, at random, for long (MINUTES=30, SEED=…, K=uml: debug kernel)
	@MINUTES=$(MINUTES) SEED=$(SEED) SRN_ENV='MINUTES SEED THINGS' SRN_KERNEL=$(or $(K),stock) \
		SRN_TESTS=tests/soak SRN_TIMEOUT=$$(($(MINUTES) * 60 + 600)) \
		scripts/run-tests --verbose guest soak

.PHONY: fuzz-cm
fuzz-cm: $(if $(K),debug-module,guest-module) tests ## connections at random: all commands of rdma_cm, bad peers (MINUTES=30, SEED=…, K=…; DRIVER=siw: the control)
	@FUZZ_CM_TIME=$$(($(MINUTES) * 60)) FUZZ_CM_SEED=$(SEED) SRN_LINK_TYPE=$(or $(DRIVER),softrnic) \
		SRN_ENV='FUZZ_CM_TIME FUZZ_CM_SEED SRN_LINK_TYPE' SRN_KERNEL=$(or $(K),stock) \
		SRN_TIMEOUT=$$(($(MINUTES) * 60 + 600)) scripts/run-tests --verbose guest fuzz-cm

# In full every program gets all the time that it wants.
.PHONY: interop
interop: guest-module tests siw-if-there ## the kernel's consumers in full, both ends in one machine and in two (T=NAME: one of tests/interop)
	@for ends in guest pairs; do \
		FULL=1 SRN_ENV=FULL SRN_TESTS=tests/interop SRN_TIMEOUT=7200 \
			scripts/run-tests $$ends $(T) || failed=1; \
	done; test -z "$$failed"

.PHONY: unit
unit: $(B)/.deps-userspace ## unit tests on this host (ARCH=s390x or arm64: emulated)
	@$(IN_RELEASE) scripts/cmake-build --only unit tests $(B)/tests
	@scripts/run-tests unit

.PHONY: fuzz
fuzz: fuzz-build ## fuzz the parsers on this host (FUZZ_SECONDS=60)
	@FUZZ_SECONDS=$(FUZZ_SECONDS) scripts/run-tests fuzz

.PHONY: fuzz-build
fuzz-build: $(B)/.deps-fuzz $(B)/.deps-userspace
	@CC=clang CXX=clang++ scripts/cmake-build --only fuzz tests $(B)/fuzz

.PHONY: coverage
coverage: coverage-build ## lines and branches of kernel/wire that unit tests and fuzzers reach (FUZZ_SECONDS=60)
	@FUZZ_SECONDS=$(FUZZ_SECONDS) scripts/run-tests coverage

# What is C is counted: the codecs, not the tests.
.PHONY: coverage-build
coverage-build: $(B)/.deps-coverage $(B)/.deps-fuzz $(B)/.deps-userspace
	@for dir in unit/wire fuzz; do \
		CC=clang CXX=clang++ scripts/cmake-build --only $$dir tests $(B)/coverage \
			-DCMAKE_C_FLAGS='-fprofile-instr-generate -fcoverage-mapping' \
			-DCMAKE_EXE_LINKER_FLAGS=-fprofile-instr-generate || exit; \
	done

.PHONY: diagrams
diagrams: $(B)/.deps-diagrams ## draw Documentation/diagrams again, from the sources beside them
	@for source in Documentation/diagrams/*.dot; do dot -Tsvg -o "$${source%.dot}.svg" "$$source"; done

.PHONY: lint
lint: $(B)/.deps-lint guest-module $(if $(filter tidy,$(or $(T),tidy)),provider $(B)/.deps-fuzz $(B)/.deps-tests) ## checkpatch, sparse, layers, clang-format, clang-tidy, shellcheck, what documents name (T='shell format …': not all)
	@scripts/lint $(T)

##@ Measure

# All with the same options: CASES='pattern' for some of it, shown only; CRC=on, DRIVERS=…, ROUNDS=…
.PHONY: bench
bench: bench-native bench-counted bench-smp ## softrnic, siw, rxe and TCP compared, on all rigs (two hours)

.PHONY: bench-native
bench-native: bench-build $(B)/.deps-debug-kernel ## the same at this host's speed, in User Mode Linux (CASES=pattern: part of it)
	@scripts/build-module "$$(scripts/debug-kernel build bench-uml)/build"
	@scripts/siw-module build "$$(scripts/debug-kernel path bench-uml)/build" > /dev/null
	@scripts/test-module bench-uml crc32c_instruction $(abspath $(B))/test-modules/bench-uml/crc32c_instruction
	@scripts/bench native '$(value CASES)'

.PHONY: bench-counted
bench-counted: bench-build guest-module siw ## the same by instructions, in QEMU: repeatable ratios (CASES=pattern: part of it)
	@scripts/bench counted '$(value CASES)'

.PHONY: bench-smp
bench-smp: bench-build guest-module siw $(B)/.deps-debug-kernel ## the same with two CPUs, in User Mode Linux and in QEMU (CASES=pattern: part of it)
	@scripts/build-module "$$(scripts/debug-kernel build bench-uml-smp)/build"
	@scripts/siw-module build "$$(scripts/debug-kernel path bench-uml-smp)/build" > /dev/null
	@scripts/bench smp '$(value CASES)'
	@scripts/bench qemu '$(value CASES)'

.PHONY: bench-build
bench-build: $(B)/.deps-bench machine provider
	@scripts/cmake-build --only bench tests $(B)/tests

.PHONY: siw
siw: machine ## build the kernel's own iWARP driver for the test machine, to test and compare with
	@scripts/siw-module build "$$(scripts/kernel-dir --guest)" > /dev/null

# What tests/selftests/previous-abi.sh runs beside what is built from this tree.
.PHONY: previous-abi
previous-abi: machine $(B)/.deps-build $(B)/.deps-userspace
	@$(IN_RELEASE) scripts/previous-abi "$$(scripts/kernel-dir --guest)"

# Where its source cannot be had, the test that wants it is skipped.
.PHONY: siw-if-there
siw-if-there: machine
	@scripts/siw-module build "$$(scripts/kernel-dir --guest)" > /dev/null || test $$? -eq 3

##@ Clean up

.PHONY: clean
clean: ## remove everything that was built in this clone
	rm -rf $(B)

.PHONY: distclean
distclean: clean ## clean, and remove the cached test machines and debug kernels as well
	rm -rf "$$(dirname "$$($(MACHINE) path)")" "$$(dirname "$$(scripts/debug-kernel path uml)")"

.PHONY: help
help: ## this list
	@awk -F ':.*## ' \
		'/^##@/ { printf "\n%s\n", substr($$0, 5) } \
		/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' Makefile

# One stamp for each group of packages: checked once in a clone.
$(B)/.deps-%: scripts/install-deps
	@mkdir -p $(B)
	@scripts/install-deps $*
	@touch $@
