//===- TargetClones.h - one loop compiled for several hosts ---------------------------------===//
//
// SPYRE_TARGET_CLONES before a function definition makes the compiler emit it three times, plain,
// for AVX2-class and for AVX-512-class machines, and choose at load time. All give the same bits:
// contraction is off for the whole project. Use it on functions that hold one hot loop. Sanitizer
// builds get the plain form only, because the chooser would run before the sanitizer's own
// start-up.
//===--------------------------------------------------------------------------------------------===//
#pragma once

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SPYRE_TARGET_CLONES
#endif
#endif

#ifndef SPYRE_TARGET_CLONES
#if defined(__x86_64__) && defined(__gnu_linux__) && !defined(__SANITIZE_ADDRESS__) &&             \
    !defined(__SANITIZE_THREAD__)
#define SPYRE_TARGET_CLONES                                                                        \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define SPYRE_TARGET_CLONES
#endif
#endif

/// Before a loop whose element i depends on elements i only, although an output may be an input:
/// the compiler need not prove it.
#if defined(__clang__)
#define SPYRE_INDEPENDENT_LOOP _Pragma("clang loop vectorize(assume_safety)")
#else
#define SPYRE_INDEPENDENT_LOOP _Pragma("GCC ivdep")
#endif
