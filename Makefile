# SPDX-License-Identifier: Apache-2.0
# The front door. `make` builds build/weft; everything else is listed by `make help`.
JOBS ?= $(shell nproc)
PREFIX ?= /usr/local
BUILD ?= build
export DESTDIR
.PHONY: all help demo test test-full test-isa test-neon planted fuzz math bench bench-peers bench-devices format \
        check-deps clean product install uninstall setup setup-test gcc clang clang-weft \
        gcc-asan gcc-asan-units clang-asan gcc-tsan fuzzers

all: setup ## build the command at build/weft
	@tools/build gcc $(JOBS) weft

help: ## list the targets
	@sed -n 's/^\([a-z][a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST)

setup:
	@tools/setup build
setup-test:
	@tools/setup test

gcc: setup-test
	@tools/build $@ $(JOBS)
# Of the other builds what is run of them: of clang and gcc-asan less in `make test`.
clang clang-asan: setup-test
	@tools/build $@ $(JOBS) weft units
clang-weft: setup-test
	@tools/build clang $(JOBS) weft
gcc-asan: setup-test
	@tools/build $@ $(JOBS) weft units build_calls weftrt_static random_programs \
	    loop_check loop_random task_check task_random
gcc-asan-units: setup-test
	@tools/build gcc-asan $(JOBS) units
gcc-tsan: setup-test
	@tools/build $@ $(JOBS) test_threads test_ahead
fuzzers: setup-test
	@tools/build fuzz $(JOBS)

demo: all ## filter a photograph and let the planets move
	@tools/demo

test: setup-test gcc clang-weft gcc-asan-units gcc-tsan ## every test with gcc; a part with clang and sanitizers
	@tests/run part

test-full: setup-test gcc clang gcc-asan clang-asan gcc-tsan ## the whole matrix
	@tests/run full

test-isa: gcc ## vectors as other machines have them: none, AVX, AVX2, AVX-512, NEON
	@tools/setup isa
	@tests/isa/run build

test-neon: gcc ## all of Weft cross-compiled for 64-bit ARM, under qemu-user
	@tools/setup neon
	@tests/isa/neon build

planted: gcc setup-test ## plant every fault in turn; the tests must find each (an hour)
	@tests/planted/run build

fuzz: fuzzers gcc ## fuzz for FUZZ_SECONDS (60) each
	@tests/run fuzz

math: gcc ## every f32 and 10^9 points of each function of two arguments (days)
	@build/mpfr_check --type f32 --every-f32
	@build/mpfr_check -n 1000000000 --only pow,hypot,atan2,atan2pi

product: setup
	@tools/build gcc $(JOBS) product

install: product ## install below PREFIX (/usr/local), or below DESTDIR/PREFIX
	@cmake --install "$(BUILD)" --prefix "$(PREFIX)" >/dev/null
	@[ -n "$(DESTDIR)" ] || ldconfig 2>/dev/null || true
	@echo "installed below $(DESTDIR)$(PREFIX)"

uninstall: product ## remove what `make install` puts there
	@tools/uninstall "$(BUILD)" "$(DESTDIR)$(PREFIX)"

bench: all setup-test ## Weft beside the best C; BENCH=dot,fft for some, QUICK=1 for small sizes
	@tools/build gcc $(JOBS) bench_suite
	@[ -n "$(BENCH)" ] || bench/run
	@build/bench/bench_suite $(if $(BENCH),-b "$(BENCH)") $(if $(QUICK),-q) \
	    build/bench bench/suite/work build/bench/results

bench-peers: all ## Weft beside Numba, JAX, PyTorch (installed below build/); BENCH=, QUICK=1
	@tools/setup peers
	@bench/peers/run build $(if $(BENCH),--only "$(BENCH)") $(if $(QUICK),--quick)

bench-devices: all ## the programs of the papers on cores, in two halves, with OpenCL, on two of OpenCL
	@bench/papers/run build/weft

format: ## lay out the sources with clang-format
	@clang-format -i $$(git ls-files 'src/*.[ch]' 'include/*.h' 'tests/*.[ch]')

check-deps: ## rooms include only what they may
	@tools/check-deps

clean: ## remove everything built
	@rm -rf build
