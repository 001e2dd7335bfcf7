//===- DevicePrograms.cpp - text of the programs --------------------------------------------===//
#include "DevicePrograms.h"

#include "fmt/format.h"

#include <functional>

namespace spyre::bench {

static constexpr int64_t kStick = 128;
static constexpr int64_t kCores = 32;

/// "  table T0: ..." with one entry per core.
static std::string table(int index, const std::function<int64_t(int64_t)> &entry) {
  std::string line = fmt::format("  table T{}:", index);
  for (int64_t core = 0; core < kCores; ++core) {
    line += fmt::format(" {}", entry(core));
  }
  return line + "\n";
}

static std::string ddrBuffer(const char *name, int64_t segment, int64_t sticks) {
  return fmt::format("buffer {} ddr {}:0x0 bytes {} phases 0..0\n", name, segment, sticks * kStick);
}

namespace {

/// Gives LX buffers their places, one after the other.
class LxBuffers {
public:
  std::string add(const std::string &name, int64_t bytes) {
    std::string line = fmt::format("buffer {} lx {:#x} bytes {} phases 0..0\n", name, next, bytes);
    next += bytes;
    return line;
  }

private:
  int64_t next = 0;
};

} // namespace

std::string matmulProgram(int64_t rows, int64_t depth, int64_t columns) {
  constexpr int64_t kRowCuts = 8, kColumnCuts = 4;
  int64_t myRows = rows / kRowCuts, blocks = columns / 64 / kColumnCuts, kBlocks = depth / 64;
  LxBuffers lx;
  std::string text = "spyre-program 2\n";
  text += ddrBuffer("a", 0, rows * kBlocks) + ddrBuffer("b", 1, depth * columns / 64) +
          ddrBuffer("out", 2, rows * columns / 64);
  text += lx.add("a.lx", myRows * kBlocks * kStick) + lx.add("b.lx", depth * blocks * kStick) +
          lx.add("acc", myRows * blocks * 2 * kStick) + lx.add("out.lx", myRows * blocks * kStick);
  text += fmt::format("phase 0 \"0_matmul\" cores {}\n", kCores);
  text += table(0, [&](int64_t core) { return core / kColumnCuts * myRows * kStick; });
  text += table(1, [&](int64_t core) { return core % kColumnCuts * blocks * depth * kStick; });
  text += table(2, [&](int64_t core) {
    return (core % kColumnCuts * blocks * rows + core / kColumnCuts * myRows) * kStick;
  });
  text += fmt::format("  load SEN169_FP16 a.lx[{}*p4 + 128*p5] <- a[T0 + {}*p4 + 128*p5] x {},{}\n",
                      myRows * kStick, rows * kStick, kBlocks, myRows);
  text += fmt::format("  load SEN169_FP16 b.lx[128*p5] <- b[T1 + 128*p5] x {}\n", blocks * depth);
  text += fmt::format("  fill SEN169_FP16 acc[128*p5] pattern=0 x {}\n", myRows * blocks * 2);
  // Column blocks, blocks of k, rows.
  text += fmt::format("  matmul SEN169_FP16 acc[{}*p3 + 256*p5] <- a.lx[{}*p4 + 128*p5], "
                      "b.lx[{}*p3 + 8192*p4] lanes=64 rowstride=128 x {},{},{}\n",
                      myRows * 256, myRows * kStick, depth * kStick, blocks, kBlocks, myRows);
  text += fmt::format("  finish.lanes SEN169_FP16 out.lx[128*p5] <- acc[256*p5] scale=0x3f800000 "
                      "x {}\n",
                      myRows * blocks);
  text += fmt::format("  store SEN169_FP16 out[T2 + {}*p4 + 128*p5] <- out.lx[{}*p4 + 128*p5] x "
                      "{},{}\n",
                      rows * kStick, myRows * kStick, blocks, myRows);
  return text;
}

/// Streams \p inputs tensors through LX in tiles and applies \p function.
static std::string streamProgram(const std::string &function, int inputs, int64_t sticks) {
  constexpr int64_t kTileSticks = 256;
  int64_t mySticks = sticks / kCores;
  LxBuffers lx;
  std::string text = "spyre-program 2\n", body, sources;
  for (int i = 0; i < inputs; ++i) {
    std::string name(1, char('a' + i));
    text += ddrBuffer(name.c_str(), i, sticks) + lx.add(name + ".lx", kTileSticks * kStick);
    body += fmt::format("    load SEN169_FP16 {0}.lx[128*p5] <- {0}[T0 + {1}*i0 + 128*p5] x {2}\n",
                        name, kTileSticks * kStick, kTileSticks);
    sources += fmt::format("{}{}.lx[128*p5]", i == 0 ? "" : ", ", name);
  }
  text += ddrBuffer("out", inputs, sticks) + lx.add("out.lx", kTileSticks * kStick);
  text += fmt::format("phase 0 \"0_{}\" cores {}\n", function, kCores);
  text += table(0, [&](int64_t core) { return core * mySticks * kStick; });
  text += fmt::format("  loop {}\n", mySticks / kTileSticks) + body;
  text += fmt::format("    vector.{} SEN169_FP16 out.lx[128*p5] <- {} x {}\n", function, sources,
                      kTileSticks);
  text += fmt::format("    store SEN169_FP16 out[T0 + {}*i0 + 128*p5] <- out.lx[128*p5] x {}\n",
                      kTileSticks * kStick, kTileSticks);
  return text + "  endloop\n";
}

std::string pointwiseProgram(const std::string &function, int64_t sticks) {
  return streamProgram(function, 2, sticks);
}

std::string unaryProgram(const std::string &function, int64_t sticks) {
  return streamProgram(function, 1, sticks);
}

namespace {

/// Common parts of operations along the columns: 16 rows at a time, each row contiguous in LX.
struct RowOperation {
  int64_t rows, columnSticks;
  int64_t myRows = rows / kCores;
  int64_t tileBytes = kTileRows * columnSticks * kStick;
  static constexpr int64_t kTileRows = 16;

  std::string load() const {
    return fmt::format(
        "    load SEN169_FP16 x.lx[{}*p4 + 128*p5] <- x[T0 + {}*i0 + 128*p4 + {}*p5] "
        "x {},{}\n",
        rowBytes(), kTileRows * kStick, rows * kStick, kTileRows, columnSticks);
  }
  std::string store() const {
    return fmt::format("    store SEN169_FP16 out[T0 + {}*i0 + 128*p4 + {}*p5] <- "
                       "out.lx[{}*p4 + 128*p5] x {},{}\n",
                       kTileRows * kStick, rows * kStick, rowBytes(), kTileRows, columnSticks);
  }
  std::string fill(const char *name, uint32_t pattern) const {
    return fmt::format("    fill SEN169_FP16 {}[128*p5] pattern={:#010x} x {}\n", name, pattern,
                       2 * kTileRows);
  }
  std::string accumulate(const char *function, const char *acc, const char *from) const {
    return fmt::format("    accumulate.{} SEN169_FP16 {}[256*p4] <- {}[{}*p4 + 128*p5] lanes=64 "
                       "masked=0 x {},{}\n",
                       function, acc, from, rowBytes(), kTileRows, columnSticks);
  }
  static std::string finish(const char *function, const char *out, const char *acc,
                            uint32_t scale) {
    return fmt::format("    finish.{} SEN169_FP16 {}[128*p5] <- {}[256*p5] scale={:#010x} x {}\n",
                       function, out, acc, scale, kTileRows);
  }
  std::string counts() const { return fmt::format("x {},{}\n", kTileRows, columnSticks); }
  std::string row(const char *name) const {
    return fmt::format("{}[{}*p4 + 128*p5]", name, rowBytes());
  }
  int64_t rowBytes() const { return columnSticks * kStick; }
  std::string head(const char *name) const {
    std::string text = fmt::format("phase 0 \"0_{}\" cores {}\n", name, kCores);
    return text + table(0, [&](int64_t core) { return core * myRows * kStick; });
  }
  std::string loop() const { return fmt::format("  loop {}\n", myRows / kTileRows); }
};

} // namespace

std::string layerNormProgram(int64_t rows, int64_t columns) {
  RowOperation op{rows, columns / 64};
  LxBuffers lx;
  int64_t sticks = rows * op.columnSticks, perRow = RowOperation::kTileRows * kStick;
  std::string text = "spyre-program 2\n" + ddrBuffer("x", 0, sticks) +
                     ddrBuffer("w", 1, op.columnSticks) + ddrBuffer("b", 2, op.columnSticks) +
                     ddrBuffer("out", 3, sticks);
  for (const char *name : {"x.lx", "out.lx"}) {
    text += lx.add(name, op.tileBytes);
  }
  for (const char *name : {"w.lx", "b.lx"}) {
    text += lx.add(name, op.rowBytes());
  }
  for (const char *name : {"sum", "squares"}) {
    text += lx.add(name, 2 * perRow);
  }
  for (const char *name : {"mean", "meansq", "scale"}) {
    text += lx.add(name, perRow);
  }
  float inverse = 1.0f / float(columns);
  uint32_t scale = 0;
  __builtin_memcpy(&scale, &inverse, sizeof(scale));
  text += op.head("layernorm");
  text += fmt::format("  load SEN169_FP16 w.lx[128*p5] <- w[128*p5] x {}\n", op.columnSticks);
  text += fmt::format("  load SEN169_FP16 b.lx[128*p5] <- b[128*p5] x {}\n", op.columnSticks);
  text += op.loop() + op.load() + op.fill("sum", 0) + op.fill("squares", 0);
  text += op.accumulate("sum", "sum", "x.lx") + op.accumulate("sum-squares", "squares", "x.lx");
  text += RowOperation::finish("tree-sum", "mean", "sum", scale) +
          RowOperation::finish("tree-sum", "meansq", "squares", scale);
  text += fmt::format("    vector.layer-norm-scale SEN169_FP16 scale[128*p5] <- mean[128*p5], "
                      "meansq[128*p5], #0x3727c5ac x {}\n", // eps = 1e-5
                      RowOperation::kTileRows);
  text += "    vector.layer-norm-norm SEN169_FP16 " + op.row("out.lx") + " <- " + op.row("x.lx") +
          ", splat(0) mean[128*p4], splat(0) scale[128*p4], w.lx[128*p5], b.lx[128*p5] " +
          op.counts();
  return text + op.store() + "  endloop\n";
}

std::string softmaxProgram(int64_t rows, int64_t columns) {
  RowOperation op{rows, columns / 64};
  LxBuffers lx;
  int64_t sticks = rows * op.columnSticks, perRow = RowOperation::kTileRows * kStick;
  std::string text = "spyre-program 2\n" + ddrBuffer("x", 0, sticks) + ddrBuffer("out", 1, sticks);
  text += lx.add("x.lx", op.tileBytes) + lx.add("out.lx", op.tileBytes);
  text += lx.add("acc.max", 2 * perRow) + lx.add("acc.sum", 2 * perRow) + lx.add("max", perRow) +
          lx.add("sum", perRow) + lx.add("inverse", perRow);
  text += op.head("softmax") + op.loop() + op.load();
  text += op.fill("acc.max", 0xFF800000) + op.accumulate("max", "acc.max", "x.lx") +
          RowOperation::finish("tree-max", "max", "acc.max", 0x3f800000);
  text += "    vector.sub SEN169_FP16 " + op.row("out.lx") + " <- " + op.row("x.lx") +
          ", splat(0) max[128*p4] " + op.counts();
  text += "    vector.exp SEN169_FP16 " + op.row("out.lx") + " <- " + op.row("out.lx") + " " +
          op.counts();
  text += op.fill("acc.sum", 0) + op.accumulate("sum", "acc.sum", "out.lx") +
          RowOperation::finish("tree-sum", "sum", "acc.sum", 0x3f800000);
  text += fmt::format("    vector.reciprocal SEN169_FP16 inverse[128*p5] <- sum[128*p5] x {}\n",
                      RowOperation::kTileRows);
  text += "    vector.mul SEN169_FP16 " + op.row("out.lx") + " <- " + op.row("out.lx") +
          ", splat(0) inverse[128*p4] " + op.counts();
  return text + op.store() + "  endloop\n";
}

std::string restickifyProgram(int64_t rows, int64_t columns) {
  int64_t myBlocks = rows / 64 / kCores, columnBlocks = columns / 64, tileBytes = 64 * kStick;
  LxBuffers lx;
  std::string text = "spyre-program 2\n" + ddrBuffer("x", 0, rows * columnBlocks) +
                     ddrBuffer("out", 1, rows * columnBlocks) + lx.add("x.lx", tileBytes) +
                     lx.add("out.lx", tileBytes);
  text += fmt::format("phase 0 \"0_restickify\" cores {}\n", kCores);
  text += table(0, [&](int64_t core) { return core * myBlocks * tileBytes; });
  text += table(1, [&](int64_t core) { return core * myBlocks * columns * kStick; });
  text += fmt::format("  loop {}\n    loop {}\n", myBlocks, columnBlocks);
  text +=
      fmt::format("      load SEN169_FP16 x.lx[128*p5] <- x[T0 + {}*i0 + {}*i1 + 128*p5] x 64\n",
                  tileBytes, rows * kStick);
  text +=
      "      shuffle SEN169_FP16 out.lx[2*p4 + 128*p5] <- x.lx[128*p4 + 2*p5] element=2 x 64,64\n";
  text += fmt::format("      store SEN169_FP16 out[T1 + {}*i0 + {}*i1 + 128*p5] <- out.lx[128*p5] "
                      "x 64\n",
                      columns * kStick, tileBytes);
  return text + "    endloop\n  endloop\n";
}

} // namespace spyre::bench
