//===- Status.h - errors as values, with a number, values and advice ------------------------===//
//
// A fault of the user's program or input is a Status (or an Expected<T>) that carries a code
// SPYRE-Ennnn; each code has a page docs/error-codes/Ennnn.md and a test checks both directions.
// A fault of our own is SPYRE_CHECK: it stops the process with the broken invariant.
//
//   Expected<Layout> makeLayout(int rank) {
//     if (rank > 6) {
//       return error<2003>("rank {} is above the limit {}; flatten leading dimensions", rank, 6);
//     }
//     ...
//   }
//   SPYRE_ASSIGN_OR_RETURN(Layout layout, makeLayout(3));
//
// Codes: 1xxx front end, 2xxx layouts, 3xxx work division, 4xxx LX planning, 5xxx bundle and back
// end, 6xxx runtime, 7xxx simulator, 8xxx distributed, 9xxx common (files, JSON, options).
//===--------------------------------------------------------------------------------------------===//
#pragma once

#include "fmt/format.h"

#include <optional>
#include <string>
#include <type_traits>
#include <utility>

namespace spyre {

/// Success, or an error code with its text. Text form: "SPYRE-E2003: rank 7 is above ...".
class [[nodiscard]] Status {
public:
  static Status success() { return Status(); }
  Status(int code, std::string text) : errorCode(code), errorText(std::move(text)) {}

  bool ok() const { return errorCode == 0; }
  int code() const { return errorCode; }
  /// The text without the code.
  const std::string &text() const { return errorText; }
  /// "SPYRE-E2003: <text>"; empty on success.
  std::string message() const {
    return ok() ? std::string() : fmt::format("SPYRE-E{:04d}: {}", errorCode, errorText);
  }
  /// The same error with a prefix that says where it happened ("bundle_0/sdsc_1.json: ").
  Status withContext(const std::string &prefix) const {
    return ok() ? *this : Status(errorCode, prefix + errorText);
  }

private:
  Status() = default;
  int errorCode = 0;
  std::string errorText;
};

/// The one way to make an error; the code is a template argument so that a test can find it.
template <int code, typename... Args>
Status error(fmt::format_string<Args...> format, Args &&...args) {
  static_assert(code >= 1000 && code <= 9999, "error codes have four digits");
  return Status(code, fmt::format(format, std::forward<Args>(args)...));
}

/// A value or the reason why there is none.
template <typename T>
class [[nodiscard]] Expected {
public:
  template <typename U = T>
    requires(std::is_constructible_v<T, U &&> && !std::is_same_v<std::decay_t<U>, Status> &&
             !std::is_same_v<std::decay_t<U>, Expected>)
  Expected(U &&value) : storedValue(std::forward<U>(value)) {}
  Expected(Status error) : storedStatus(std::move(error)) {}

  bool ok() const { return storedValue.has_value(); }
  explicit operator bool() const { return ok(); }
  const Status &status() const { return storedStatus; }
  T &operator*() & { return *storedValue; }
  const T &operator*() const & { return *storedValue; }
  T &&operator*() && { return std::move(*storedValue); }
  T *operator->() { return &*storedValue; }
  const T *operator->() const { return &*storedValue; }

private:
  std::optional<T> storedValue;
  Status storedStatus = Status::success();
};

/// Stops the process: our own invariant is broken. Never for anything a user can cause.
[[noreturn]] void checkFailed(const char *file, int line, const char *condition, const char *why);

} // namespace spyre

#define SPYRE_CHECK(condition, why)                                                                \
  do {                                                                                             \
    if (!(condition)) [[unlikely]] {                                                               \
      ::spyre::checkFailed(__FILE__, __LINE__, #condition, why);                                   \
    }                                                                                              \
  } while (false)

#define SPYRE_RETURN_IF_ERROR(expression)                                                          \
  do {                                                                                             \
    if (::spyre::Status spyreStatus = (expression); !spyreStatus.ok()) {                           \
      return spyreStatus;                                                                          \
    }                                                                                              \
  } while (false)

#define SPYRE_CONCAT_IMPL(a, b) a##b
#define SPYRE_CONCAT(a, b) SPYRE_CONCAT_IMPL(a, b)
#define SPYRE_ASSIGN_OR_RETURN(declaration, expression)                                            \
  auto SPYRE_CONCAT(spyreExpected, __LINE__) = (expression);                                       \
  if (!SPYRE_CONCAT(spyreExpected, __LINE__).ok()) {                                               \
    return SPYRE_CONCAT(spyreExpected, __LINE__).status();                                         \
  }                                                                                                \
  declaration = *std::move(SPYRE_CONCAT(spyreExpected, __LINE__))
