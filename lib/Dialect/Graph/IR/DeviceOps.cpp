//===- DeviceOps.cpp - element-wise device operations under their own names -----------------===//
#include "spyre/Dialect/Graph/IR/DeviceOps.h"

namespace spyre::graph {

/// A device operation without constants.
static OpRow plain(const char *name, int positions, TypeRule types = TypeRule::Float) {
  // The callee's name begins with the prefix, the device's name is the rest of it.
  return {name,      OpKind::Pointwise,
          positions, name + std::char_traits<char>::length(kDeviceOpPrefix),
          {},        types};
}

static OpRow withConstants(const char *name, std::vector<OpConstant> constants) {
  OpRow row = plain(name, 1);
  for (const OpConstant &constant : constants) {
    row.attributes.push_back(constant.attribute);
  }
  row.constants = std::move(constants);
  return row;
}

const std::vector<OpRow> &deviceOpTable() {
  static const std::vector<OpRow> table = {
      plain("spyre.device.abs", 1),
      plain("spyre.device.add", 2),
      withConstants("spyre.device.clip",
                    {{"clipMin", "clipMin", -65504.0}, {"clipMax", "clipMax", 65504.0}}),
      plain("spyre.device.equal", 2, TypeRule::Compare),
      plain("spyre.device.exp", 1),
      plain("spyre.device.floor", 1),
      plain("spyre.device.gelufwd", 1),
      plain("spyre.device.greaterequal", 2, TypeRule::Compare),
      plain("spyre.device.greaterthan", 2, TypeRule::Compare),
      withConstants("spyre.device.leakyrelufwd", {{"leakyReluAlpha", "leakyReluAlpha", 0.01}}),
      plain("spyre.device.lesserequal", 2, TypeRule::Compare),
      plain("spyre.device.lesserthan", 2, TypeRule::Compare),
      plain("spyre.device.log", 1),
      plain("spyre.device.maximum", 2),
      plain("spyre.device.minimum", 2),
      plain("spyre.device.mish", 1),
      plain("spyre.device.mul", 2),
      plain("spyre.device.neg", 1),
      plain("spyre.device.notequal", 2, TypeRule::Compare),
      plain("spyre.device.realdiv", 2),
      plain("spyre.device.reciprocal", 1),
      plain("spyre.device.relu6fwd", 1),
      plain("spyre.device.relufwd", 1),
      plain("spyre.device.rsqrt", 1),
      plain("spyre.device.sigmoid", 1),
      plain("spyre.device.silu", 1),
      withConstants("spyre.device.softplus", {{"softplusBeta", "softplusBeta", 1.0},
                                              {"softplusThresh", "softplusThresh", 20.0}}),
      plain("spyre.device.sqrt", 1),
      plain("spyre.device.sub", 2),
      plain("spyre.device.tanh", 1),
      plain("spyre.device.where3", 3, TypeRule::Where),
  };
  return table;
}

} // namespace spyre::graph
