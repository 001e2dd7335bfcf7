//===- ModelRunner.cpp - runs compiled artifacts on the simulator and on the evaluator ------===//
#include "ModelRunner.h"

#include "spyre/Evaluator/ModelRun.h"
#include "spyre/Runtime/Executable.h"
#include "spyre/Spec/Model.h"

namespace spyre::testing {

namespace {

/// Host bytes of a tensor in the model's dtype, row-major.
std::vector<uint8_t> hostBytes(const spec::TensorDesc &desc, const HostTensor &tensor) {
  using numerics::HostType;
  std::vector<uint8_t> bytes(tensor.values.size() * numerics::hostTypeBytes(desc.dtype));
  for (size_t i = 0; i < tensor.values.size(); ++i) {
    if (desc.dtype == HostType::Bool) {
      bytes[i] = tensor.values[i] != 0;
    } else if (desc.dtype == HostType::Float32) {
      reinterpret_cast<float *>(bytes.data())[i] = tensor.values[i];
    } else if (desc.dtype == HostType::Int32) {
      reinterpret_cast<int32_t *>(bytes.data())[i] = int32_t(tensor.values[i]);
    } else if (desc.dtype == HostType::Int64) {
      reinterpret_cast<int64_t *>(bytes.data())[i] = int64_t(tensor.values[i]);
    } else if (desc.dtype == HostType::Int16) {
      reinterpret_cast<int16_t *>(bytes.data())[i] = int16_t(tensor.values[i]);
    } else if (desc.dtype == HostType::Int8) {
      bytes[i] = uint8_t(int8_t(tensor.values[i]));
    } else if (desc.dtype == HostType::Float8E4m3fn) {
      bytes[i] = numerics::floatToE4m3fn(tensor.values[i]);
    } else {
      reinterpret_cast<uint16_t *>(bytes.data())[i] =
          desc.dtype == HostType::Bfloat16 ? numerics::floatToBfloat16(tensor.values[i])
                                           : numerics::floatToHalf(tensor.values[i]);
    }
  }
  return bytes;
}

float hostValue(numerics::HostType dtype, const std::vector<uint8_t> &bytes, size_t i) {
  using numerics::HostType;
  if (dtype == HostType::Bool) {
    return float(bytes[i]);
  }
  if (dtype == HostType::Float32) {
    return reinterpret_cast<const float *>(bytes.data())[i];
  }
  if (dtype == HostType::Int32) {
    return float(reinterpret_cast<const int32_t *>(bytes.data())[i]);
  }
  if (dtype == HostType::Int64) {
    return float(reinterpret_cast<const int64_t *>(bytes.data())[i]);
  }
  if (dtype == HostType::Int16) {
    return float(reinterpret_cast<const int16_t *>(bytes.data())[i]);
  }
  if (dtype == HostType::Int8) {
    return float(int8_t(bytes[i]));
  }
  if (dtype == HostType::Float8E4m3fn) {
    return numerics::e4m3fnToFloat(bytes[i]);
  }
  const uint16_t bits = reinterpret_cast<const uint16_t *>(bytes.data())[i];
  return dtype == HostType::Bfloat16 ? numerics::bfloat16ToFloat(bits)
                                     : numerics::halfToFloat(bits);
}

layout::HostTensorRef refOf(const spec::TensorDesc &desc, std::vector<uint8_t> &bytes) {
  return {bytes.data(), desc.dtype, desc.size, desc.stride};
}

Status readBack(runtime::Device &device, const std::vector<runtime::BufferRef> &buffers,
                const std::vector<spec::TensorDesc> &descs,
                std::vector<std::vector<uint8_t>> &deviceBytes, std::vector<HostTensor> &tensors) {
  for (size_t i = 0; i < buffers.size(); ++i) {
    const spec::TensorDesc &desc = descs[i];
    std::vector<uint8_t> raw(desc.layout.bytes());
    SPYRE_RETURN_IF_ERROR(device.copyToHost(buffers[i], 0, raw.data(), raw.size()));
    deviceBytes.push_back(raw);
    HostTensor tensor;
    tensor.shape = desc.size;
    tensor.dtype = desc.dtype;
    std::vector<uint8_t> bytes(elementCount(desc.size) * numerics::hostTypeBytes(desc.dtype));
    SPYRE_RETURN_IF_ERROR(runtime::downloadTensor(buffers[i], desc, refOf(desc, bytes)));
    for (int64_t n = 0; n < elementCount(desc.size); ++n) {
      tensor.values.push_back(hostValue(desc.dtype, bytes, size_t(n)));
    }
    tensors.push_back(std::move(tensor));
  }
  return Status::success();
}

} // namespace

Expected<RunResult> runOnSimulator(const Artifacts &artifacts, const arch::DeviceDesc &desc,
                                   const std::vector<HostTensor> &inputs, uint32_t threads) {
  return runOnSimulator(artifacts, desc, inputs, runtime::DriverOptions{threads, true});
}

Expected<RunResult> runOnSimulator(const Artifacts &artifacts, const arch::DeviceDesc &desc,
                                   const std::vector<HostTensor> &inputs,
                                   const runtime::DriverOptions &options) {
  SPYRE_ASSIGN_OR_RETURN(auto driver, runtime::createDriver("sim", desc, options));
  std::shared_ptr<runtime::Device> device = runtime::Device::create(std::move(driver));
  SPYRE_ASSIGN_OR_RETURN(auto executable, runtime::Executable::load(device, artifacts));
  const spec::Model &model = executable->model();
  std::vector<runtime::BufferRef> in, out;
  for (size_t i = 0; i < model.inputs.size(); ++i) {
    SPYRE_ASSIGN_OR_RETURN(runtime::BufferRef buffer,
                           device->allocate(model.inputs[i].layout.bytes()));
    std::vector<uint8_t> bytes = hostBytes(model.inputs[i], inputs[i]);
    SPYRE_RETURN_IF_ERROR(
        runtime::uploadTensor(buffer, model.inputs[i], refOf(model.inputs[i], bytes)));
    in.push_back(buffer);
  }
  for (const spec::TensorDesc &output : model.outputs) {
    SPYRE_ASSIGN_OR_RETURN(runtime::BufferRef buffer, device->allocate(output.layout.bytes()));
    out.push_back(buffer);
  }
  SPYRE_RETURN_IF_ERROR(executable->run(in, out));
  RunResult result;
  result.counters = device->counters();
  SPYRE_RETURN_IF_ERROR(readBack(*device, out, model.outputs, result.deviceBytes, result.outputs));
  SPYRE_RETURN_IF_ERROR(readBack(*device, in, model.inputs, result.inputBytes, result.inputs));
  return result;
}

Expected<std::vector<std::vector<uint8_t>>>
runOnEvaluator(const Artifacts &artifacts, const std::vector<HostTensor> &inputs,
               std::vector<std::vector<uint8_t>> *inputBytes) {
  SPYRE_ASSIGN_OR_RETURN(std::string text, findArtifact(artifacts, "model.json"));
  SPYRE_ASSIGN_OR_RETURN(spec::Model model, spec::readModel(text));
  evaluator::DeviceBytes buffers;
  for (size_t i = 0; i < model.inputs.size(); ++i) {
    const spec::TensorDesc &desc = model.inputs[i];
    std::vector<uint8_t> host = hostBytes(desc, inputs[i]);
    std::vector<uint8_t> &device = buffers[desc.name];
    device.resize(desc.layout.bytes());
    SPYRE_RETURN_IF_ERROR(
        layout::packToDevice(refOf(desc, host), desc.stride, desc.layout, device.data()));
  }
  for (const spec::TensorDesc &output : model.outputs) {
    buffers[output.name].resize(output.layout.bytes());
  }
  SPYRE_RETURN_IF_ERROR(evaluator::evaluateModel(artifacts, buffers));
  std::vector<std::vector<uint8_t>> outputs;
  for (const spec::TensorDesc &output : model.outputs) {
    outputs.push_back(buffers[output.name]);
  }
  for (size_t i = 0; inputBytes && i < model.inputs.size(); ++i) {
    inputBytes->push_back(buffers[model.inputs[i].name]);
  }
  return outputs;
}

} // namespace spyre::testing
