# SPDX-License-Identifier: MIT
#
# `make help` lists the targets; V=1 shows the commands; CC, CFLAGS, LDFLAGS and BUILD (the output
# directory) are honoured.

BUILD   ?= build
PREFIX  ?= /usr/local
DESTDIR ?=
PYTHON  ?= /usr/bin/python3
OBJCOPY ?= objcopy
INCLUDEDIR = $(PREFIX)/include
LIBDIR     = $(PREFIX)/lib
BINDIR     = $(PREFIX)/bin
MANDIR     = $(PREFIX)/share/man
BASHDIR    = $(PREFIX)/share/bash-completion/completions
ZSHDIR     = $(PREFIX)/share/zsh/site-functions
FISHDIR    = $(PREFIX)/share/fish/vendor_completions.d

ifeq ($(origin CC),default)
CC = gcc
endif
CFLAGS ?= -O2 -g
# WERROR is set to -Werror for our own checks only. Elsewhere, new warnings of a compiler do not
# stop the build.
WERROR ?=
WARNINGS = -Wall -Wextra $(WERROR) -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
           -Wpointer-arith -Wcast-qual -Wwrite-strings -Wvla -Wundef
# Sanitizers replace these options. Without optimisation, glibc warns about _FORTIFY_SOURCE.
HARDENING = $(if $(SANITIZE)$(findstring -O0,$(CFLAGS)),,-D_FORTIFY_SOURCE=2) \
            $(if $(SANITIZE),,-fstack-protector-strong -fstack-clash-protection)
HARDENED_LINK = $(if $(SANITIZE),,-Wl,-z,relro -Wl,-z,now)
ALL_CFLAGS = -std=gnu11 -D_GNU_SOURCE -I. -fPIC -fvisibility=hidden -pthread $(WARNINGS) $(HARDENING) \
             $(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-sanitize-recover=all \
             -fno-omit-frame-pointer) -ffile-prefix-map=$(CURDIR)=. $(CFLAGS)
ALL_LDFLAGS = -pthread $(HARDENED_LINK) $(if $(SANITIZE),-fsanitize=$(SANITIZE)) $(LDFLAGS)

# libisal's pkg-config file is missing in some releases, and giflib has none, so both are named
# directly. libarchive is loaded when it is used.
MODULES = zlib liblz4 libzstd libxxhash jansson libjpeg libpng libwebpdemux libwebp libcurl \
          libcrypto expat
LIBS    = $(shell pkg-config --libs $(MODULES)) -lisal -lgif -lm -ldl

VERSION_OF = $(shell sed -n 's/^\#define SHEAF_VERSION_$(1) //p' sheaf.h)
MAJOR   := $(call VERSION_OF,MAJOR)
MINOR   := $(call VERSION_OF,MINOR)
VERSION := $(MAJOR).$(MINOR).$(call VERSION_OF,PATCH)
# Releases with the same ABI replace each other. Before 1.0, these are the releases of one MINOR
# version.
ABI     := $(if $(filter 0,$(MAJOR)),0.$(MINOR),$(MAJOR))

# The list is sorted, and does not contain the build directory, so that the bytes are the same
# everywhere.
ROOMS        = base formats image store publish packer reader modes copy columns
LIB_SOURCES  = $(sort $(wildcard $(addsuffix /*.c,$(ROOMS)) $(addsuffix /*/*.c,$(ROOMS))))
TOOL_SOURCES = $(sort $(wildcard tools/*.c tools/crops/*.c tools/plan/*.c tools/report/*.c))
GENERATORS   = $(patsubst tools/generate/%.c,$(BUILD)/%,$(wildcard tools/generate/*.c))
FAKE_S3      = $(BUILD)/tests/fake_s3
TESTS        = $(filter-out $(OMITTED),$(patsubst tests/%.c,$(BUILD)/tests/%,$(wildcard tests/test_*.c)))
TEST_COMMON  = $(BUILD)/tests/common.a
FUZZERS      = $(patsubst tests/fuzz/%.c,$(BUILD)/fuzz/%,$(wildcard tests/fuzz/fuzz_*.c))
LIB_OBJECTS  = $(LIB_SOURCES:%.c=$(BUILD)/%.o)
TOOL_OBJECTS = $(TOOL_SOURCES:%.c=$(BUILD)/%.o)

Q = $(if $(V),,@)
SAY = $(if $(V),@:,@printf '  %-8s %s\n')

.DEFAULT_GOAL := all

# The purpose of a target is after its "##:".
help:
	@sed -n 's/^\([a-z-]*\):.*##: */\1|/p' Makefile | awk -F'|' '{ printf "  make %-14s %s\n", $$1, $$2 }'

.PHONY: help map all demo test check unit system asan ubsan tsan fuzz lint coverage packages \
        packages-test packages-bench packages-interop packages-wheel packages-deb install uninstall clean
.DELETE_ON_ERROR:
.SECONDARY:

all: $(BUILD)/sheaf $(BUILD)/libsheaf.a $(BUILD)/libsheaf.so $(GENERATORS) ##: the command and the library

$(BUILD)/%.o: %.c
	$(SAY) CC $<
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -MT $@ -MMD -MP -MF $(@:.o=.d) -c -o $@ $<

# The sanitized tests are compiled without optimization, in half of the time: their own code takes
# little of the time in which they run. The code that they share includes a server and generators of
# random data, which take more.
$(BUILD)/tests/test_%.o: ALL_CFLAGS += $(if $(SANITIZE),-O0)

# Weights that do not depend on the machine.
$(BUILD)/image/resample_axis.o $(BUILD)/image/crop_draw.o $(BUILD)/image/crop_mask.o: ALL_CFLAGS += -ffp-contract=off

# The object that programs link. Its internal names are hidden. INSIDE: static libraries that it
# contains, so that it needs no others (tools/packaging/wheel.sh).
INSIDE ?=
$(BUILD)/libsheaf.a: $(LIB_OBJECTS) $(INSIDE)
	$(SAY) AR $@
	$(Q)$(LD) -r -o $(BUILD)/libsheaf.o $(LIB_OBJECTS) \
	    $(if $(INSIDE),--start-group $(INSIDE) --end-group)
	$(Q)$(OBJCOPY) $(if $(INSIDE),--wildcard --keep-global-symbol='sheaf_*',--localize-hidden) \
	    $(BUILD)/libsheaf.o
	$(Q)rm -f $@ && $(AR) rcs $@ $(BUILD)/libsheaf.o

# The object that tests link. They may call internal names.
$(BUILD)/internal.a: $(LIB_OBJECTS)
	$(SAY) AR $@
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(BUILD)/libsheaf.so: $(LIB_OBJECTS) sheaf.map
	$(SAY) LINK $@
	$(Q)$(CC) -shared -Wl,-soname,libsheaf.so.$(ABI) -Wl,--version-script=sheaf.map \
	    $(if $(SANITIZE),,-Wl,-z,defs) $(ALL_LDFLAGS) -o $@ $(LIB_OBJECTS) $(LIBS)
	$(Q)ln -sf libsheaf.so $@.$(ABI)

# The library that the command links. A distribution's package links the shared library.
LIBRARY ?= $(BUILD)/libsheaf.a
$(BUILD)/sheaf: $(TOOL_OBJECTS) $(LIBRARY)
	$(SAY) LINK $@
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIBS)

$(BUILD)/%: $(BUILD)/tools/generate/%.o
	$(SAY) LINK $@
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIBS)

$(BUILD)/tests/test_advise: $(BUILD)/tools/mode_advice.o $(BUILD)/tools/size_text.o
# The part of the Python package that does not include Python's headers.
$(BUILD)/tests/test_serving: $(patsubst %,$(BUILD)/python/src/%.o,arena held packing process \
                             serving serving_life serving_ranks)

# The code that several tests use. Each program contains only the objects that it needs.
$(TEST_COMMON): $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/common_*.c))
	$(SAY) AR $@
	$(Q)rm -f $@ && $(AR) rcs $@ $^

# gold links the hundred test programs in a third of the time of the default linker.
GOLD      := $(if $(shell command -v ld.gold),-fuse-ld=gold)
TEST_LINK  = $(if $(filter gcc,$(CC)),$(GOLD))
$(BUILD)/tests/%: $(BUILD)/tests/%.o $(TEST_COMMON) $(BUILD)/internal.a
	$(SAY) LINK $@
	$(Q)$(CC) $(TEST_LINK) $(ALL_LDFLAGS) -o $@ $(filter %.o,$^) $(TEST_COMMON) $(BUILD)/internal.a \
	    $(LIBS) -lcmocka

$(BUILD)/fuzz/fuzz_journal: tests/common_model_store.c
$(BUILD)/fuzz/%: tests/fuzz/%.c $(BUILD)/internal.a
	$(SAY) FUZZER $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(ALL_CFLAGS) -fsanitize=fuzzer $(ALL_LDFLAGS) -o $@ $(filter %.c,$^) \
	    $(BUILD)/internal.a $(LIBS)

# ---- Missing packages ------------------------------------------------------------------------

packages:
	$(Q)tools/packages.sh build

packages-test:
	$(Q)tools/packages.sh build test

packages-bench:
	$(Q)tools/packages.sh build bench || echo "measuring beside what is here" >&2

packages-interop:
	$(Q)tools/packages.sh build interop || echo "comparing with what is here" >&2

packages-wheel:
	$(Q)tools/packages.sh build wheel

packages-deb:
	$(Q)tools/packages.sh build deb

demo: packages ##: install what is missing, build, and show all of it on real JPEG files
	+$(Q)$(COMPILE) all
	$(Q)BUILD=$(BUILD) tools/demo.sh

# ---- Tests -----------------------------------------------------------------------------------

# Compiling uses every core, unless make was given a number. Running uses the number that AT_ONCE
# says.
PARALLEL = $(if $(filter -j%,$(MAKEFLAGS)),,-j$(shell nproc))
COMPILE  = $(MAKE) --no-print-directory $(PARALLEL)
# Runs a few targets at the same time, because each of them often waits. Prints each output whole.
TOGETHER = $(MAKE) --no-print-directory $(if $(filter -j%,$(MAKEFLAGS)),,-j4) --output-sync=target

test check asan ubsan tsan fuzz compiled: export WERROR = -Werror
test: export SLOWEST = $(abspath $(BUILD))/slowest
test: packages-test ##: install what is missing, build, and run every test
	$(Q)mkdir -p $(BUILD) && : >$(BUILD)/slowest
	$(Q)$(MAKE) --no-print-directory lint
	+$(Q)$(COMPILE) compiled
	$(Q)$(MAKE) --no-print-directory unit system
	+$(Q)$(TOGETHER) python-test campaign-short
	$(Q)$(MAKE) --no-print-directory asan tsan fuzz
	@echo "the slowest modules, in seconds:" && sort -rn $(BUILD)/slowest | head -n 10

.PHONY: check-all
check-all: ##: make test, and then make analyze
	$(Q)$(MAKE) --no-print-directory test
	$(Q)$(MAKE) --no-print-directory analyze

check: export QUICK = 1
check: compiled-parallel unit system python-test ##: unit, system and Python tests, the largest made small

.PHONY: compiled-parallel
compiled-parallel:
	+$(Q)$(COMPILE) compiled

.PHONY: compiled
compiled: all $(TESTS) $(FAKE_S3)

# Slow tests come first, so that all end at about the same time.
SLOW_TESTS = $(addprefix $(BUILD)/tests/test_,fence memory s3_write frames s3_pack s3_server reader s3_read)
unit: $(TESTS) ##: unit tests alone
	$(Q)BUILD=$(BUILD) tests/run_unit.sh $(filter $(TESTS),$(SLOW_TESTS)) $(filter-out $(SLOW_TESTS),$(TESTS))

system: all $(FAKE_S3) ##: system tests alone; tests/run_system.sh MODULE runs one
	$(Q)BUILD=$(BUILD) tests/run_system.sh

# The unit tests under each sanitizer, in a build directory of its own. The library in build/asan is
# also that of the fuzz targets. So it is made by clang, and counts the branches that an input takes.
# Unlike gcc, clang's check of pointer-overflow reports 0 added to NULL, which C allows from C2y on.
# gold warns about names that clang's static runtime exports, so tests link the shared runtime.
ASAN_RUNTIME = $(dir $(wildcard $(shell clang -print-file-name=libclang_rt.asan-$(shell uname -m).so)))
ASAN = BUILD=$(BUILD)/asan CC=clang SANITIZE=address,undefined \
       CFLAGS="-O1 -g -fsanitize=fuzzer-no-link -fno-sanitize=pointer-overflow" \
       TEST_LINK="$(if $(GOLD),$(ASAN_RUNTIME:%=$(GOLD) -shared-libasan -Wl,-rpath,%))"
UBSAN = BUILD=$(BUILD)/ubsan SANITIZE=undefined CFLAGS="-O1 -g"
# If a program starts no thread, takes no lock and handles no signal, ThreadSanitizer finds nothing
# in it that AddressSanitizer does not find. Half of the test programs contain no call that does so.
# They are omitted, but a program that nm cannot read is not. The model checker is omitted because it
# lets only one run go on at a time. The threads of a run are tested by test_pack. With huge pages for
# the sanitizer's own memory, tests that use much memory take less time.
OMITTED_BY_TSAN = $(BUILD)/tests/test_fence $(shell for program in $(TESTS); do \
    calls=$$(nm -D --undefined-only $$program) \
    && ! echo "$$calls" | grep -q 'pthread_\|sigaction' && echo $$program; done)
TSAN = BUILD=$(BUILD)/tsan SANITIZE=thread CFLAGS="-O1 -g" \
       TSAN_OPTIONS="no_huge_pages_for_shadow=0 $(TSAN_OPTIONS)" \
       OMITTED="$(OMITTED_BY_TSAN:$(BUILD)/%=$(BUILD)/tsan/%)"
.PHONY: units
units: $(TESTS)
SANITIZED = $(COMPILE) $(1) units && $(MAKE) --no-print-directory $(1) QUICK=1 unit
asan: ##: unit tests under AddressSanitizer and UBSan
	+$(Q)$(call SANITIZED,$(ASAN))
ubsan: ##: unit tests under UBSan alone
	+$(Q)$(call SANITIZED,$(UBSAN))
tsan: compiled-parallel ##: unit tests under ThreadSanitizer
	+$(Q)$(call SANITIZED,$(TSAN))

# tests/campaign/run.py describes the settings, and how a chain is repeated. CAMPAIGN_FENCE is the
# number of interleavings of two runs that the model checker of publication tries, about 600 a
# second on each of CAMPAIGN_JOBS processors.
CAMPAIGN_FENCE ?= 1000000
CAMPAIGN_JOBS  ?= $(shell nproc)
CAMPAIGN_NEEDS = all python $(BUILD)/campaign/faults.so $(FAKE_S3)
.PHONY: campaign campaign-short campaign-chains campaign-faults campaign-storm
campaign: $(CAMPAIGN_NEEDS) $(BUILD)/tests/test_fence ##: CAMPAIGN_CHAINS (5000) random chains beside a model
	+$(Q)$(TOGETHER) campaign-chains campaign-faults campaign-storm
	$(Q)seq 0 $$(($(CAMPAIGN_JOBS) - 1)) | xargs -P 0 -I '{}' \
	    $(BUILD)/tests/test_fence $(CAMPAIGN_FENCE) '{}' $(CAMPAIGN_JOBS)

# The chains and faults are the same each time, unless SEED is set. The model checker is among the
# unit tests.
campaign-short: export SEED ?= 1
campaign-short: $(CAMPAIGN_NEEDS) ##: the same for half a minute, with SEED (1)
	+$(Q)CAMPAIGN_CHAINS=60 CAMPAIGN_S3=0 CAMPAIGN_FAULTS=1 CAMPAIGN_STORM=40 \
	    $(TOGETHER) campaign-chains campaign-faults campaign-storm

CAMPAIGN = BUILD=$(BUILD) PYTHONDONTWRITEBYTECODE=1 $(PYTHON) tests/campaign
campaign-chains:
	$(Q)$(CAMPAIGN)/run.py
campaign-faults:
	$(Q)$(CAMPAIGN)/faults.py
campaign-storm:
	$(Q)$(CAMPAIGN)/storm.py

$(BUILD)/campaign/faults.so: tests/campaign/faults.c
	$(SAY) LINK $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(filter-out -fsanitize%,$(ALL_CFLAGS)) -fvisibility=default -shared -o $@ $<

# Runs each target for FUZZ_SECONDS (default 5), under ASan and UBSan. Needs clang.
FUZZ_SECONDS ?= 5
fuzz: ##: every fuzz target for FUZZ_SECONDS (5)
	+$(Q)$(COMPILE) $(ASAN) fuzzers
	$(Q)BUILD=$(BUILD)/asan FUZZ_SECONDS=$(FUZZ_SECONDS) tests/fuzz/run.sh
.PHONY: fuzzers
fuzzers: $(FUZZERS)

# tools/cross.sh describes the variables, and how to run fewer tests.
.PHONY: cross
cross: ##: build for ARCH (arm64, s390x), and run unit and system tests under qemu-user
	+$(Q)BUILD=$(BUILD) tools/cross.sh $(ARCH)

# The version is in sheaf.h and nowhere else.
.PHONY: release release-kept reproducible
release: ##: date NEWS, set VERSION, commit, tag, and make archives with their sums
	$(Q)BUILD=$(BUILD) tools/release.sh $(VERSION)

release-kept: all ##: commit what the release VERSION writes, and its ABI, for later ones to be held to
	$(Q)BUILD=$(BUILD) tools/release.sh --keep $(VERSION)

reproducible: ##: build the last commit in two directories, and compare what is made
	+$(Q)BUILD=$(BUILD) tools/reproducible.sh

lint: ##: style, includes, prose and names of the source
	$(Q)tools/check_style.sh
	$(Q)$(PYTHON) tools/check_rooms.py
	$(Q)$(PYTHON) tools/check_prose.py
	$(Q)$(PYTHON) tools/check_names.py

# Runs clang's static analyzer on each file that has changed since its last analysis. Then compares
# all warnings with the list of wrong warnings. gcc's -fanalyzer is not used, because it reports a
# leak for nearly every string that is stored in an array.
ANALYZED = $(patsubst %.c,$(BUILD)/analyze/%.plist,\
             $(LIB_SOURCES) $(TOOL_SOURCES) $(wildcard python/src/*.c))
.PHONY: analyze analyzed
analyze: ##: clang's static analyzer on all files that have changed
	+$(Q)$(COMPILE) analyzed
	$(Q)$(PYTHON) tools/check_analysis.py $(ANALYZED)
analyzed: $(ANALYZED)

# errors.h describes functions that base/error.c defines, and that only the library calls.
FACTS = -include tools/analyzer/errors.h
$(BUILD)/analyze/base/error.plist: FACTS =
$(BUILD)/analyze/tools/%.plist: FACTS =
$(BUILD)/analyze/python/%.plist: FACTS = -I$(shell $(PYTHON) -c \
    'import sysconfig; print(sysconfig.get_path("include"))')
$(BUILD)/analyze/%.plist: %.c
	$(SAY) ANALYZE $<
	$(Q)mkdir -p $(@D)
	$(Q)clang --analyze --analyzer-output plist-multi-file -std=gnu11 -D_GNU_SOURCE -I. $(FACTS) \
	    -MT $@ -MMD -MP -MF $(@:.plist=.d) -o $@ $< 2>$(@:.plist=.log) \
	    || { cat $(@:.plist=.log) >&2; exit 1; }

coverage: ##: build/coverage/index.html
	$(Q)$(MAKE) --no-print-directory BUILD=$(BUILD)/coverage CFLAGS="-O0 -g --coverage" \
	    LDFLAGS=--coverage unit system
	$(Q)gcovr -r . --object-directory $(BUILD)/coverage -e tests/ --print-summary \
	    --html-details $(BUILD)/coverage/index.html

map: ##: print a line for each file of the source
	$(Q)$(PYTHON) tools/check_rooms.py --map

# ---- Python --------------------------------------------------------------------------------
# The extension, its tests, a wheel that carries the library, and the peers' own programs.

.PHONY: libs sources python python-test sdist wheel try-wheel interop bench-python
libs:
	@echo $(LIBS)
sources:
	@echo $(LIB_SOURCES) $(TOOL_SOURCES)

python: $(BUILD)/libsheaf.a $(BUILD)/sheaf ##: the Python extension, in build
	$(Q)BUILD=$(BUILD) PYTHON=$(PYTHON) python/build.sh

python-test: all $(FAKE_S3)
	$(Q)BUILD=$(BUILD) PYTHON=$(PYTHON) tests/run_python.sh

sdist: ##: build/wheel/sheaf-*.tar.gz, the source distribution for pip
	$(Q)BUILD=$(BUILD) PYTHON=$(PYTHON) tools/packaging/sdist.sh

wheel: packages-wheel ##: build/wheel/sheaf-*.whl, with all libraries inside
	$(Q)BUILD=$(BUILD) PYTHON=$(PYTHON) tools/packaging/wheel.sh

try-wheel: ##: install the wheel in fresh Debian roots (ROOTS) and use it there; as root
	$(Q)BUILD=$(BUILD) tools/packaging/try_wheel.sh $(ROOTS)

interop: packages-interop ##: tests with other projects' readers and writers, from their registries
	$(Q)$(MAKE) --no-print-directory all $(BUILD)/tests/resolve_s3
	$(Q)BUILD=$(BUILD) PYTHON=$(PYTHON) tests/run_interop.sh

bench-python: all ##: measure the Python package beside the peers' (BENCH_PYTHON, BENCH_EARLIER)
	$(Q)BUILD=$(BUILD) PYTHON=$(PYTHON) tests/run_interop.sh --bench

# ---- Packages ------------------------------------------------------------------------------
# tools/packaging has the files for the packages. The try-targets make fresh Debian systems in
# BUILD/roots with debootstrap, which needs root. They use the packages there, and remove the
# systems.

.PHONY: deb try-deb try-image abi
deb: packages-deb ##: Debian packages, in build/deb
	$(Q)BUILD=$(BUILD) ABI=$(ABI) tools/packaging/deb.sh

try-deb: ##: install, use and purge the packages in a fresh Debian 12 root; as root
	$(Q)BUILD=$(BUILD) tools/packaging/try_deb.sh

try-image: ##: the steps of tools/packaging/Dockerfile in a fresh Debian 12 root; as root
	$(Q)BUILD=$(BUILD) tools/packaging/try_image.sh

abi: $(BUILD)/libsheaf.so ##: compare the library's ABI with that of the last release
	$(Q)BUILD=$(BUILD) tools/packaging/abi.sh

# ---- Measuring -----------------------------------------------------------------------------
# bench measures on this machine, with the other programs that are installed. bench-peers installs
# those of the Python registry. tools/bench/README.md says more.

BENCH_PROGRAMS = $(patsubst tools/bench/%.c,$(BUILD)/bench/%,\
                   $(filter-out %/meter.c,$(wildcard tools/bench/*.c)))

.PHONY: bench bench-gate bench-peers bench-programs bench-results casestudy
bench-programs: all $(BENCH_PROGRAMS)

$(BUILD)/bench/curl_loop: $(BUILD)/base/crc64.o
$(BUILD)/bench/%: $(BUILD)/tools/bench/%.o $(BUILD)/tools/bench/meter.o \
                  $(BUILD)/tools/peak_memory.o $(BUILD)/libsheaf.a
	$(SAY) LINK $@
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(LIBS)

bench: packages-bench ##: measure this machine (BENCH_ROWS, BENCH_SIZE; tools/bench/README.md)
	$(Q)$(MAKE) --no-print-directory bench-programs
	$(Q)BUILD=$(BUILD) $(PYTHON) tools/bench/bench.py $(BENCH_ROWS)

bench-gate: all $(BUILD)/bench/make_records ##: fail if this build takes more processor time than the last release
	$(Q)BUILD=$(BUILD) $(PYTHON) tools/bench/gate.py

bench-peers: ##: get what the measurements compare with
	$(Q)BUILD=$(BUILD) PYTHON=$(PYTHON) tools/bench/peers.sh

casestudy: packages-bench ##: train from S3 in every way that data can come
	$(Q)$(MAKE) --no-print-directory bench-programs
	$(Q)BUILD=$(BUILD) $(PYTHON) tools/bench/casestudy.py

bench-results: ##: write tools/bench/RESULTS.md from the last run
	$(Q)BUILD=$(BUILD) $(PYTHON) tools/bench/results.py

# ---- Installation ----------------------------------------------------------------------------

MAN_PAGES = $(wildcard tools/*.1)

# Sections 3 and 5 are made from sheaf.h and the specifications, if Python is installed.
.PHONY: manual
manual: ##: manual pages of the library and the formats, in build/man
	$(Q)command -v $(PYTHON) >/dev/null || { echo "no $(PYTHON): no manual pages of sections 3 and 5"; exit 0; }; \
	    $(PYTHON) tools/manual.py $(BUILD)/man

install: all manual ##: into DESTDIR and PREFIX (/usr/local)
	install -d $(DESTDIR)$(BINDIR) $(DESTDIR)$(LIBDIR)/pkgconfig $(DESTDIR)$(INCLUDEDIR) \
	    $(DESTDIR)$(MANDIR)/man1 $(DESTDIR)$(BASHDIR) $(DESTDIR)$(ZSHDIR) $(DESTDIR)$(FISHDIR)
	install -m 755 $(BUILD)/sheaf $(DESTDIR)$(BINDIR)/sheaf
	install -m 644 $(BUILD)/libsheaf.a $(DESTDIR)$(LIBDIR)/libsheaf.a
	install -m 755 $(BUILD)/libsheaf.so $(DESTDIR)$(LIBDIR)/libsheaf.so.$(VERSION)
	ln -sf libsheaf.so.$(VERSION) $(DESTDIR)$(LIBDIR)/libsheaf.so.$(ABI)
	ln -sf libsheaf.so.$(ABI) $(DESTDIR)$(LIBDIR)/libsheaf.so
	install -m 644 sheaf.h $(DESTDIR)$(INCLUDEDIR)/sheaf.h
	sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@LIBDIR@|$(LIBDIR)|' \
	    -e 's|@VERSION@|$(VERSION)|' -e 's|@LIBS@|$(LIBS)|' sheaf.pc.in \
	    >$(DESTDIR)$(LIBDIR)/pkgconfig/sheaf.pc
	for page in $(MAN_PAGES); do install -m 644 $$page $(DESTDIR)$(MANDIR)/man1/; done
	for section in 3 5; do [ ! -d $(BUILD)/man/man$$section ] || { \
	    install -d $(DESTDIR)$(MANDIR)/man$$section && \
	    install -m 644 $(BUILD)/man/man$$section/* $(DESTDIR)$(MANDIR)/man$$section/; } || exit 1; done
	install -m 644 tools/completion.bash $(DESTDIR)$(BASHDIR)/sheaf
	install -m 644 tools/completion.zsh $(DESTDIR)$(ZSHDIR)/_sheaf
	install -m 644 tools/completion.fish $(DESTDIR)$(FISHDIR)/sheaf.fish
	@[ -n "$(DESTDIR)" ] || echo "Now run ldconfig as root: programs that link libsheaf.so find" \
	    "it in $(LIBDIR) once its cache knows it."

# Directories are removed only if they are then empty, and only if this package may have made them.
uninstall: ##: remove what install put there
	rm -f $(DESTDIR)$(BINDIR)/sheaf $(DESTDIR)$(INCLUDEDIR)/sheaf.h \
	    $(DESTDIR)$(LIBDIR)/libsheaf.a $(DESTDIR)$(LIBDIR)/libsheaf.so \
	    $(DESTDIR)$(LIBDIR)/libsheaf.so.$(ABI) $(DESTDIR)$(LIBDIR)/libsheaf.so.$(VERSION) \
	    $(DESTDIR)$(LIBDIR)/pkgconfig/sheaf.pc $(DESTDIR)$(BASHDIR)/sheaf \
	    $(DESTDIR)$(ZSHDIR)/_sheaf $(DESTDIR)$(FISHDIR)/sheaf.fish \
	    $(addprefix $(DESTDIR)$(MANDIR)/man1/,$(notdir $(MAN_PAGES))) \
	    $(DESTDIR)$(MANDIR)/man3/sheaf.3 $(DESTDIR)$(MANDIR)/man3/sheaf_*.3 $(DESTDIR)$(MANDIR)/man5/sheaf-*.5

clean: ##: remove BUILD
	rm -rf $(BUILD)

# The environments of peers and of the wheel, libraries of other machines, and roots of Debian have
# many thousand files that are not ours. The campaign's trees may have any name.
-include $(shell find $(BUILD) \( $(foreach d,interop* campaign* wheel roots deb cross,\
           -path '$(BUILD)/$d' -o) -false \) -prune -o -name '*.d' -type f -print 2>/dev/null)
