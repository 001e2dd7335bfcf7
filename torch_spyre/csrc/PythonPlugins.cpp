//===- PythonPlugins.cpp - see PythonPlugins.h ----------------------------------------------===//
#include "PythonPlugins.h"

#include "torch/csrc/utils/pybind.h"

#include <optional>

namespace spyre::plugin {

namespace placement = solver::placement;

namespace {

/// An object of Python that any thread may drop.
using Shared = std::shared_ptr<py::object>;

Shared share(const py::object &object) {
  return Shared(new py::object(object), [](py::object *kept) {
    py::gil_scoped_acquire gil;
    delete kept;
  });
}

thread_local std::unique_ptr<py::error_already_set> firstFault;

/// Runs \p body with Python's lock; an exception of Python becomes E1503 and is kept.
template <typename Body>
Status withPlugin(const std::string &name, const Body &body) {
  py::gil_scoped_acquire gil;
  try {
    body(py::module_::import("torch_spyre._inductor.plugins"));
    return Status::success();
  } catch (py::error_already_set &fault) {
    const std::string text = fault.what();
    if (!firstFault) {
      firstFault = std::make_unique<py::error_already_set>(std::move(fault));
    }
    return error<1503>("'{}' raised {}", name, text.substr(0, text.find('\n')));
  } catch (const std::exception &fault) {
    return error<1503>("'{}' gave something else than its interface asks for: {}", name,
                       fault.what());
  }
}

std::string nameOf(const py::object &object) {
  return py::module_::import("torch_spyre._inductor.plugins")
      .attr("name_of")(object)
      .cast<std::string>();
}

py::list listOf(const placement::Problem &problem) {
  py::list rows;
  for (const placement::Buffer &buffer : problem.buffers) {
    std::vector<std::string> parents;
    for (int parent : buffer.parents) {
      parents.push_back(problem.buffers[size_t(parent)].name);
    }
    rows.append(py::make_tuple(buffer.name, buffer.sizeBytes, buffer.lower, buffer.upper,
                               buffer.uses, buffer.firstUseIsRead, parents, buffer.forbidden));
  }
  return rows;
}

class PythonSolver : public placement::MemoryPlanSolver {
public:
  explicit PythonSolver(const py::object &solverClass)
      : solver(share(solverClass)), solverName(nameOf(solverClass)) {}
  std::string_view name() const override { return solverName; }

  Expected<placement::Plan> plan(const placement::Problem &problem,
                                 placement::Variant variant) const override {
    SPYRE_RETURN_IF_ERROR(placement::validate(problem));
    SPYRE_RETURN_IF_ERROR(placement::checkPins(problem));
    placement::Plan plan;
    SPYRE_RETURN_IF_ERROR(withPlugin(solverName, [&](const py::module_ &plugins) {
      plan.offsets =
          plugins.attr("place")(*solver, problem.capacityBytes, problem.alignment, listOf(problem))
              .cast<placement::Offsets>();
    }));
    SPYRE_RETURN_IF_ERROR(placement::verifyPlan(problem, plan.offsets, variant)
                              .withContext(fmt::format("plan of solver '{}': ", solverName)));
    finish(problem, plan);
    return plan;
  }

private:
  /// The solver proves nothing; the bound is the value of all that may be placed.
  static void finish(const placement::Problem &problem, placement::Plan &plan) {
    placement::Certificate &certificate = plan.certificate;
    certificate.value = placement::valueOf(problem, plan.offsets);
    plan.complete = true;
    for (size_t i = 0; i < problem.buffers.size(); ++i) {
      const placement::Buffer &buffer = problem.buffers[i];
      certificate.bound += buffer.forbidden ? 0 : buffer.worth();
      plan.complete = plan.complete && (plan.offsets[i] || buffer.forbidden);
    }
    certificate.proof =
        certificate.gap() == 0 ? placement::Proof::BoundMet : placement::Proof::None;
  }

  Shared solver;
  std::string solverName;
};

/// A copy that a pass asks for: tensor, number of the operation in front of which it is made, and
/// the operations that read it.
using Copy = std::tuple<int, size_t, std::vector<size_t>>;

class PythonPass : public placement::ScratchpadOptimizationPass {
public:
  explicit PythonPass(const py::object &pass) : pass(share(pass)), passName(nameOf(pass)) {}
  std::string_view name() const override { return passName; }

  Status run(placement::OpList &list, int64_t capacityBytes) const override {
    std::vector<std::string> barred;
    std::vector<int64_t> reserved;
    std::vector<Copy> copies;
    SPYRE_RETURN_IF_ERROR(withPlugin(passName, [&](const py::module_ &plugins) {
      std::tie(barred, reserved, copies) =
          plugins.attr("run_before")(*pass, capacityBytes, tensorsOf(list), operationsOf(list))
              .cast<
                  std::tuple<std::vector<std::string>, std::vector<int64_t>, std::vector<Copy>>>();
    }));
    SPYRE_CHECK(barred.size() == list.tensors.size() && reserved.size() == list.ops.size(),
                "plugins.run_before() answers for every tensor and operation");
    for (size_t i = 0; i < barred.size(); ++i) {
      list.tensors[i].barred = barred[i];
    }
    for (size_t i = 0; i < reserved.size(); ++i) {
      list.ops[i].transientBytes = reserved[i];
    }
    std::vector<placement::OpStep> clones;
    for (const Copy &copy : copies) {
      clones.push_back(cloneOf(list, copy));
    }
    // From the last place to the first: operations in front keep their numbers.
    for (size_t i = copies.size(); i-- > 0;) {
      list.ops.insert(list.ops.begin() + int64_t(std::get<1>(copies[i])), std::move(clones[i]));
    }
    return Status::success();
  }

  Status runAfter(const placement::OpList &list, const placement::OpListProblem &made,
                  placement::Offsets &offsets) const override {
    return withPlugin(passName, [&](const py::module_ &plugins) {
      offsets = plugins
                    .attr("run_after")(*pass, made.problem.capacityBytes, tensorsOf(list),
                                       operationsOf(list), listOf(made.problem), offsets)
                    .cast<placement::Offsets>();
    });
  }

private:
  static py::list tensorsOf(const placement::OpList &list) {
    py::list rows;
    for (const placement::OpTensor &tensor : list.tensors) {
      rows.append(py::make_tuple(tensor.name, tensor.coreBytes, tensor.totalBytes,
                                 tensor.isGraphInput, tensor.isGraphOutput, tensor.barred));
    }
    return rows;
  }

  static py::list operationsOf(const placement::OpList &list) {
    py::list rows;
    for (const placement::OpStep &op : list.ops) {
      rows.append(py::make_tuple(op.name, op.reads, op.writes, op.opaque, op.transientBytes));
    }
    return rows;
  }

  /// Makes the readers read a new tensor; returns the operation that writes it, which is divided as
  /// the first of them reads.
  static placement::OpStep cloneOf(placement::OpList &list, const Copy &asked) {
    const auto &[source, position, readers] = asked;
    placement::OpTensor copy = list.tensors[size_t(source)];
    copy.name += fmt::format("_copy{}", list.tensors.size());
    copy.isGraphInput = copy.isGraphOutput = false;
    const int target = int(list.tensors.size());
    list.tensors.push_back(std::move(copy));
    placement::OpStep clone;
    clone.name = "clone";
    clone.reads = {source};
    clone.writes = {target};
    for (size_t reader : readers) {
      placement::OpStep &op = list.ops[reader];
      for (size_t i = 0; i < op.reads.size(); ++i) {
        if (op.reads[i] != source) {
          continue;
        }
        op.reads[i] = target;
        if (clone.readViews.empty() && !op.readViews.empty()) {
          clone.readViews = clone.writeViews = {op.readViews[i]};
        }
      }
    }
    return clone;
  }

  Shared pass;
  std::string passName;
};

py::dict dictOf(const capi::OperationView &view) {
  py::list operands;
  for (const capi::OperandView &operand : view.operands) {
    operands.append(py::dict(py::arg("name") = operand.name, py::arg("kind") = operand.kind,
                             py::arg("dtype") = operand.type, py::arg("size") = operand.size,
                             py::arg("layout") = operand.layout,
                             py::arg("lx_address") = operand.lxAddress));
  }
  return py::dict(py::arg("step") = view.step, py::arg("name") = view.name,
                  py::arg("location") = view.location, py::arg("variables") = view.vars,
                  py::arg("extents") = view.extents, py::arg("reductions") = view.reductions,
                  py::arg("operands") = operands, py::arg("splits") = view.division);
}

} // namespace

std::shared_ptr<const placement::MemoryPlanSolver> pythonSolver(const py::object &solverClass) {
  return std::make_shared<PythonSolver>(solverClass);
}

std::shared_ptr<const placement::ScratchpadOptimizationPass>
pythonScratchpadPass(const py::object &pass) {
  return std::make_shared<PythonPass>(pass);
}

capi::OperationFunction pythonFunction(const py::object &function, const std::string &point) {
  return [kept = share(function), name = nameOf(function),
          point](std::vector<capi::OperationView> &views) {
    return withPlugin(name, [&](const py::module_ &plugins) {
      py::list rows;
      for (const capi::OperationView &view : views) {
        rows.append(dictOf(view));
      }
      const auto asked = plugins.attr("run_function")(*kept, point, rows)
                             .cast<std::vector<std::optional<std::vector<int64_t>>>>();
      for (size_t i = 0; i < views.size(); ++i) {
        views[i].asked = asked.at(i);
      }
    });
  };
}

PythonFaults::PythonFaults() {
  if (firstFault) {
    py::gil_scoped_acquire gil;
    firstFault.reset();
  }
}

void PythonFaults::rethrow() const {
  if (firstFault) {
    py::gil_scoped_acquire gil;
    const std::unique_ptr<py::error_already_set> fault = std::move(firstFault);
    throw py::error_already_set(*fault);
  }
}

} // namespace spyre::plugin
