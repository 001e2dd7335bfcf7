//===- Bundle.cpp - bundle.mlir and the files it names --------------------------------------===//
//
// The parser knows all constructs of the dialect by name, so that a bundle of another mode is
// refused with the construct that makes it one. [spec: codegen-and-backend 4.1-4.3]
//===--------------------------------------------------------------------------------------------===//
#include "spyre/Spec/Bundle.h"

#include "JsonText.h"

#include <string_view>

namespace spyre::spec {

namespace {

constexpr size_t kMaxTextBytes = size_t(16) << 20;
constexpr size_t kMaxExecutes = 100000;

class Parser {
public:
  explicit Parser(const std::string &text) : text(text) { advance(); }

  Expected<Bundle> run() {
    Bundle bundle;
    for (const char *word : {"module", "{", "func.func", "@sdsc_bundle", "("}) {
      SPYRE_RETURN_IF_ERROR(expect(word));
    }
    if (token.starts_with('%')) {
      return notYet("function parameters");
    }
    SPYRE_RETURN_IF_ERROR(expect(")"));
    SPYRE_RETURN_IF_ERROR(expect("{"));
    while (token != "return") {
      SPYRE_RETURN_IF_ERROR(parseExecute(bundle));
    }
    for (const char *word : {"return", "}", "}"}) {
      SPYRE_RETURN_IF_ERROR(expect(word));
    }
    return atEnd() ? Expected<Bundle>(std::move(bundle)) : Expected<Bundle>(unexpected("the end"));
  }

private:
  bool atEnd() const { return token.empty(); }

  Status unexpected(std::string_view wanted) const {
    return error<5004>("line {}: expected {}, found {}", tokenLine, wanted,
                       atEnd() ? "the end of the text" : fmt::format("'{}'", shown()));
  }

  Status notYet(std::string_view construct) const {
    return error<5004>("line {}: {}: the symbolic and the looped mode are not accepted yet; write "
                       "the bundle with baked addresses and unrolled loops",
                       tokenLine, construct);
  }

  std::string_view shown() const { return token.substr(0, 40); }

  Status expect(std::string_view word) {
    if (token != word) {
      SPYRE_RETURN_IF_ERROR(checkKnownConstruct());
      return unexpected(fmt::format("'{}'", word));
    }
    advance();
    return Status::success();
  }

  /// The constructs of the other modes, each refused by its own name.
  Status checkKnownConstruct() const {
    for (const char *name :
         {"scf.for", "scf.yield", "arith.constant", "arith.addi", "affine.apply", "affine_map",
          "sdscbundle.input_arg_extract", "\"symbol_ids\"", "symbol_ids"}) {
      if (token == name) {
        return notYet(name);
      }
    }
    if (token.starts_with('%')) {
      return notYet(fmt::format("operand or value {}", shown()));
    }
    return token.starts_with('#') ? notYet(fmt::format("affine map {}", shown()))
                                  : Status::success();
  }

  Status parseExecute(Bundle &bundle) {
    SPYRE_RETURN_IF_ERROR(expect("sdscbundle.sdsc_execute"));
    for (const char *word : {"(", ")", "{", "sdsc_filename", "="}) {
      SPYRE_RETURN_IF_ERROR(expect(word));
    }
    if (token.size() < 2 || token.front() != '"' || token.back() != '"') {
      return unexpected("a quoted file name");
    }
    std::string name(token.substr(1, token.size() - 2));
    if (!isPlainFileName(name)) {
      return error<5004>("line {}: '{}' is not a plain file name; the files of a bundle lie beside "
                         "bundle.mlir",
                         tokenLine, name.substr(0, 40));
    }
    if (bundle.executes.size() >= kMaxExecutes) {
      return error<5004>("line {}: more than {} operations; split the bundle", tokenLine,
                         kMaxExecutes);
    }
    bundle.executes.push_back(std::move(name));
    advance();
    if (token == ",") {
      advance();
      SPYRE_RETURN_IF_ERROR(checkKnownConstruct());
    }
    return expect("}");
  }

  static bool isWordChar(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || c == '@' || c == '%' || c == '#' || c == '!';
  }

  void skipBlanks() {
    while (at < text.size()) {
      if (text[at] == '\n') {
        ++line;
      } else if (text.compare(at, 2, "//") == 0) {
        while (at + 1 < text.size() && text[at + 1] != '\n') {
          ++at;
        }
      } else if (text[at] != ' ' && text[at] != '\t' && text[at] != '\r') {
        return;
      }
      ++at;
    }
  }

  /// Words, quoted strings (with their quotes, on one line), single marks; empty at the end.
  void advance() {
    skipBlanks();
    tokenLine = line;
    const size_t begin = at;
    if (at < text.size() && text[at] == '"') {
      do {
        ++at;
      } while (at < text.size() && text[at] != '"' && text[at] != '\n');
      at += at < text.size() && text[at] == '"';
    } else {
      while (at < text.size() && isWordChar(text[at])) {
        ++at;
      }
      at += at == begin && at < text.size();
    }
    token = std::string_view(text).substr(begin, at - begin);
  }

  const std::string &text;
  size_t at = 0;
  int line = 1, tokenLine = 1;
  std::string_view token;
};

} // namespace

std::string writeBundleMlir(const Bundle &bundle) {
  std::string text = "module {\n\tfunc.func @sdsc_bundle() {\n";
  for (const std::string &name : bundle.executes) {
    text += fmt::format("\t\tsdscbundle.sdsc_execute () {{sdsc_filename=\"{}\"}}\n", name);
  }
  return text + "\t\treturn\n\t}\n}\n";
}

Expected<Bundle> parseBundleMlir(const std::string &text) {
  if (text.size() > kMaxTextBytes) {
    return error<5004>("the text has {} bytes, the limit is {}; split the bundle", text.size(),
                       kMaxTextBytes);
  }
  return Parser(text).run();
}

Expected<Artifacts> generateBundle(const std::vector<OpSpec> &specs) {
  Artifacts files;
  Bundle bundle;
  for (size_t i = 0; i < specs.size(); ++i) {
    Expected<SuperDsc> dsc = emitSuperDsc(specs[i], int64_t(i));
    if (!dsc) {
      return dsc.status().withContext(fmt::format("operation {}: ", i));
    }
    bundle.executes.push_back(fmt::format("sdsc_{}.json", i));
    files[bundle.executes.back()] = writeSuperDsc(*dsc);
  }
  files["bundle.mlir"] = writeBundleMlir(bundle);
  return files;
}

Expected<std::vector<SuperDsc>> readBundle(const Artifacts &files) {
  SPYRE_ASSIGN_OR_RETURN(std::string text, findArtifact(files, "bundle.mlir"));
  Expected<Bundle> bundle = parseBundleMlir(text);
  if (!bundle) {
    return bundle.status().withContext("bundle.mlir: ");
  }
  std::vector<SuperDsc> dscs;
  for (const std::string &name : bundle->executes) {
    SPYRE_ASSIGN_OR_RETURN(std::string json, findArtifact(files, name));
    Expected<SuperDsc> dsc = readSuperDsc(json);
    if (!dsc) {
      return dsc.status().withContext(name + ": ");
    }
    dscs.push_back(*std::move(dsc));
  }
  return dscs;
}

} // namespace spyre::spec
