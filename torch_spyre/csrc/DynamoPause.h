//===- DynamoPause.h - Python that C++ calls is not compiled --------------------------------===//
#pragma once

#include <memory>

namespace spyre::plugin {

/// While it lives, Dynamo compiles no Python frames of this thread. Inside of a compiled function's
/// eager parts Dynamo would compile all Python that runs, also torch's own that the plug-in calls.
class DynamoPause {
public:
  DynamoPause();
  ~DynamoPause();
  DynamoPause(const DynamoPause &) = delete;
  DynamoPause &operator=(const DynamoPause &) = delete;

private:
  /// Dynamo's callback for frames, put back at the end.
  struct Before;
  std::unique_ptr<Before> before;
};

} // namespace spyre::plugin
