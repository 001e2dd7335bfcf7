//===- BundleWriter.cpp - a bundle as text --------------------------------------------------===//
//
// Consumers of the documented interface compare text, so names, tabs and order are fixed: maps,
// parameters, extracted arguments, loop constants, then what the operands are made of in the order
// of first use, then the executes. [spec: codegen-and-backend 4.3-4.4]
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Spec/Bundle.h"

#include <map>

namespace spyre::spec {

namespace {

class Writer {
public:
  explicit Writer(const Bundle &bundle) : bundle(bundle) {}

  std::string run() {
    collect(bundle.body);
    writeNodes(bundle.body, 2);
    std::string text = maps + "module {\n\tfunc.func @sdsc_bundle(";
    for (size_t i = 0; i < bundle.arguments.size(); ++i) {
      text += fmt::format("{}%{}_base_addr: !sdscbundle.input_arg<index>", i == 0 ? "" : ", ",
                          bundleArgumentName(bundle.arguments[i]));
    }
    text += bundle.nonTerminal ? ") attributes {sdscbundle.non_terminal} {\n" : ") {\n";
    for (int64_t argument : bundle.arguments) {
      const std::string name = bundleArgumentName(argument);
      text += fmt::format("\t\t%{} = sdscbundle.input_arg_extract value from %{}_base_addr : "
                          "!sdscbundle.input_arg<index> -> index\n",
                          name, name);
    }
    return text + head + values + body + "\t\treturn\n\t}\n}\n";
  }

private:
  using Base = std::pair<std::vector<uint32_t>, int64_t>;

  /// Loop constants and the fixed part of every address, in the order of first use.
  void collect(const std::vector<BundleNode> &nodes) {
    for (const BundleNode &node : nodes) {
      if (node.isLoop) {
        if (loops == 0) {
          head += "\t\t%c0 = arith.constant 0 : index\n\t\t%c1 = arith.constant 1 : index\n";
        }
        head +=
            fmt::format("\t\t%loop_bound_{} = arith.constant {} : index\n", loops++, node.count);
        collect(node.body);
      }
      for (const AddressExpr &operand : node.execute.operands) {
        baseOf(operand);
      }
    }
  }

  std::string constant(const std::string &name, int64_t value) {
    values += fmt::format("\t\t%{} = arith.constant {} : index\n", name, value);
    return name;
  }

  std::string sum(const std::string &name, const std::string &left, const std::string &right) {
    values += fmt::format("\t\t%{} = arith.addi %{}, %{} : index\n", name, left, right);
    return name;
  }

  /// A number inside a name.
  static std::string nameOf(int64_t value) {
    const std::string text = std::to_string(value);
    return value < 0 ? "m" + text.substr(1) : text;
  }

  std::string argumentName(uint32_t position) const {
    return position < bundle.arguments.size() ? bundleArgumentName(bundle.arguments[position])
                                              : fmt::format("unknown_{}", position);
  }

  /// Name of the value constant + arguments; made when it is asked for the first time.
  const std::string &baseOf(const AddressExpr &address) {
    auto [entry, isNew] = bases.try_emplace(Base(address.arguments, address.constant));
    if (isNew) {
      entry->second = makeBase(address.arguments, address.constant);
    }
    return entry->second;
  }

  std::string makeBase(const std::vector<uint32_t> &arguments, int64_t offset) {
    if (arguments.empty()) {
      return constant(fmt::format("sym_{}", constants++), offset);
    }
    if (arguments.size() > 1) {
      std::string name = argumentName(arguments[0]);
      for (size_t i = 1; i < arguments.size(); ++i) {
        name = sum(fmt::format("sum_{}", sums++), name, argumentName(arguments[i]));
      }
      return offset == 0 ? name
                         : sum(fmt::format("{}_plus_{}", name, nameOf(offset)), name,
                               constant(fmt::format("{}_offset_{}", name, nameOf(offset)), offset));
    }
    const std::string name = argumentName(arguments[0]);
    const bool isPool = name == "pool";
    if (offset == 0 && !isPool) {
      return name;
    }
    const std::string number = nameOf(offset);
    const char *offsetName = isPool ? "offset" : "core_offset";
    const std::string step = constant(fmt::format("{}_{}_{}", name, offsetName, number), offset);
    return sum(fmt::format("{}_{}_{}", name, isPool ? "addr" : "core", number), name, step);
  }

  size_t mapOf(const std::vector<AddressExpr::Stride> &strides) {
    std::vector<int64_t> key;
    for (const AddressExpr::Stride &stride : strides) {
      key.push_back(stride.bytes);
    }
    auto [entry, isNew] = mapOfStrides.emplace(key, mapOfStrides.size());
    if (isNew) {
      std::string dims, terms;
      for (size_t i = 0; i < key.size(); ++i) {
        dims += fmt::format("{}d{}", i == 0 ? "" : ", ", i);
        terms += fmt::format(" + {}*d{}", key[i], i);
      }
      maps += fmt::format("#map_{} = affine_map<({})[s0] -> (s0{})>\n", entry->second, dims, terms);
    }
    return entry->second;
  }

  std::string writeOperand(const AddressExpr &operand, const std::string &tabs) {
    const std::string &base = baseOf(operand);
    if (operand.strides.empty()) {
      return "%" + base;
    }
    std::string indices;
    for (const AddressExpr::Stride &stride : operand.strides) {
      indices += indices.empty() ? "" : ", ";
      indices += stride.loop < openLoops.size() ? fmt::format("%i_{}", openLoops[stride.loop])
                                                : fmt::format("%unknown_{}", stride.loop);
    }
    body += fmt::format("{}%addr_{} = affine.apply #map_{}({})[%{}]\n", tabs, addresses,
                        mapOf(operand.strides), indices, base);
    return fmt::format("%addr_{}", addresses++);
  }

  void writeExecute(const BundleExecute &execute, const std::string &tabs) {
    std::string operands, ids;
    for (const AddressExpr &operand : execute.operands) {
      operands += (operands.empty() ? "" : ", ") + writeOperand(operand, tabs);
    }
    for (int64_t id : execute.symbolIds) {
      ids += (ids.empty() ? "" : ", ") + std::to_string(id);
    }
    body += fmt::format("{}sdscbundle.sdsc_execute ({}) {{sdsc_filename=\"{}\"", tabs, operands,
                        execute.file);
    body += ids.empty() ? "}\n" : fmt::format(", \"symbol_ids\"=[{}]}}\n", ids);
  }

  void writeNodes(const std::vector<BundleNode> &nodes, size_t depth) {
    const std::string tabs(depth, '\t');
    for (const BundleNode &node : nodes) {
      if (!node.isLoop) {
        writeExecute(node.execute, tabs);
        continue;
      }
      const size_t loop = writtenLoops++;
      body +=
          fmt::format("{}scf.for %i_{} = %c0 to %loop_bound_{} step %c1 {{\n", tabs, loop, loop);
      openLoops.push_back(loop);
      writeNodes(node.body, depth + 1);
      openLoops.pop_back();
      body += tabs + "}\n";
    }
  }

  const Bundle &bundle;
  std::string maps, head, values, body;
  size_t loops = 0, writtenLoops = 0, constants = 0, sums = 0, addresses = 0;
  std::vector<size_t> openLoops;
  std::map<Base, std::string> bases;
  std::map<std::vector<int64_t>, size_t> mapOfStrides;
};

} // namespace

std::string writeBundleMlir(const Bundle &bundle) { return Writer(bundle).run(); }

} // namespace spyre::spec
