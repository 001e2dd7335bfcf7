//===- Cards.cpp - the environment's words about cards --------------------------------------===//
#include "spyre/Runtime/Cards.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string_view>

namespace spyre::runtime {

namespace {

constexpr std::string_view kBlanks = " \t";

std::string_view trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) {
    return {};
  }
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

/// A number of digits alone; what does not fit is the largest int, which is out of every range.
std::optional<int> parseCount(std::string_view text) {
  text = trimmed(text);
  if (text.empty() || text.find_first_not_of("0123456789") != std::string_view::npos) {
    return std::nullopt;
  }
  int value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  return fault == std::errc() ? value : INT32_MAX;
}

Expected<CardMode> parseMode(const std::string &text) {
  const std::string_view name = trimmed(text);
  if (name.empty() || name == "MOCK") {
    return CardMode::Private;
  }
  if (name == "PF") {
    return CardMode::Exclusive;
  }
  if (name == "VF") {
    return CardMode::Shared;
  }
  return error<6140>("FLEX_DEVICE is '{}'; use PF (one process per card), VF (shared cards), MOCK "
                     "(simulated cards of this process alone), or leave it unset",
                     text);
}

Expected<int> parseWorldSize(const std::string &text) {
  if (trimmed(text).empty()) {
    return kMaxCards;
  }
  const std::optional<int> value = parseCount(text);
  if (!value || *value < 1 || *value > kMaxCards) {
    return error<6141>("AIU_WORLD_SIZE is '{}'; give a number of cards from 1 to {}, or leave it "
                       "unset for {}",
                       text, kMaxCards, kMaxCards);
  }
  return *value;
}

/// Order is kept; what does not exist and what was named before is left out.
Expected<std::vector<int>> parseDevices(const std::string &text, int count) {
  std::vector<int> cards;
  std::string_view rest = text;
  for (bool more = true; more;) {
    const size_t comma = rest.find(',');
    more = comma != std::string_view::npos;
    const std::optional<int> card = parseCount(rest.substr(0, comma));
    if (!card) {
      return error<6142>("SPYRE_DEVICES is '{}' and '{}' in it is no card number; list card "
                         "numbers from 0 to {} with commas between them",
                         text, rest.substr(0, comma), count - 1);
    }
    if (*card < count && std::find(cards.begin(), cards.end(), *card) == cards.end()) {
      cards.push_back(*card);
    }
    rest.remove_prefix(more ? comma + 1 : rest.size());
  }
  return cards;
}

} // namespace

const char *cardModeName(CardMode mode) {
  switch (mode) {
  case CardMode::Exclusive:
    return "PF";
  case CardMode::Shared:
    return "VF";
  case CardMode::Private:
    break;
  }
  return "private";
}

Expected<CardList> enumerateCards(const CardVariables &variables) {
  CardList list;
  SPYRE_ASSIGN_OR_RETURN(list.mode, parseMode(variables.flexDevice));
  SPYRE_ASSIGN_OR_RETURN(const int count, parseWorldSize(variables.aiuWorldSize));
  if (!trimmed(variables.spyreDevices).empty()) {
    SPYRE_ASSIGN_OR_RETURN(list.cards, parseDevices(variables.spyreDevices, count));
    return list;
  }
  for (int card = 0; card < count; ++card) {
    list.cards.push_back(card);
  }
  return list;
}

Expected<int> defaultDeviceIndex(const CardVariables &variables, size_t deviceCount) {
  if (trimmed(variables.localRank).empty()) {
    return 0;
  }
  const std::optional<int> rank = parseCount(variables.localRank);
  if (!rank) {
    return error<6143>("LOCAL_RANK is '{}', which is no device index; torchrun sets it, unset it "
                       "elsewhere",
                       variables.localRank);
  }
  if (size_t(*rank) >= deviceCount) {
    return error<6143>("Device index out of bounds. logical_device_id={}, number of visible "
                       "devices={}; LOCAL_RANK chooses the device: start at most as many processes "
                       "per host as there are devices, or call torch.spyre.set_device()",
                       variables.localRank, deviceCount);
  }
  return *rank;
}

std::string cardFolder(const std::string &chosen, const std::string &userRuntimeFolder,
                       const std::string &temporaryFolder, unsigned userId) {
  if (!chosen.empty()) {
    return chosen;
  }
  if (!userRuntimeFolder.empty()) {
    return userRuntimeFolder + "/openspyre";
  }
  return fmt::format("{}/openspyre-{}", temporaryFolder, userId);
}

} // namespace spyre::runtime
