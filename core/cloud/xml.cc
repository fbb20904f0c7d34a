#include "core/cloud/xml.h"

#include <charconv>

#include "core/base/error.h"
#include "core/base/text/utf8.h"

namespace det::cloud {

namespace {

// A name may be made of spaces alone, which are no layout then. Document types are kept, so that
// they can be refused.
constexpr unsigned rules = pugi::parse_default | pugi::parse_ws_pcdata_single | pugi::parse_doctype;

bool has_document_type(const pugi::xml_document &document) {
  for (const pugi::xml_node node : document)
    if (node.type() == pugi::node_doctype) return true;
  return false;
}

}  // namespace

XmlDocument::XmlDocument(std::string_view text, std::string_view root, std::string what)
    : what_(std::move(what)) {
  const pugi::xml_parse_result parsed = document_.load_buffer(text.data(), text.size(), rules);
  if (!parsed)
    refuse(std::string(parsed.description()) + " at byte " + std::to_string(parsed.offset));
  if (has_document_type(document_)) refuse("it declares a document type");
  if (this->root().name() != root)
    refuse("it is a <" + std::string(this->root().name()) + ">, not a <" + std::string(root) + ">");
}

std::string XmlDocument::text(pugi::xml_node element, const char *child) const {
  const pugi::xml_node found = element.child(child);
  if (!found) refuse("a <" + std::string(element.name()) + "> has no <" + child + ">");
  return found.text().get();
}

uint64_t XmlDocument::number(pugi::xml_node element, const char *child) const {
  const std::string digits = text(element, child);
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size())
    refuse("<" + std::string(child) + "> is no number: '" + digits + "'");
  return value;
}

void XmlDocument::refuse(const std::string &why) const {
  throw Error(Code::corrupt, what_ + " is damaged: " + why);
}

std::string xml_text_at(std::string_view text, const char *root, const char *child) {
  pugi::xml_document document;
  if (!document.load_buffer(text.data(), text.size(), rules) || has_document_type(document))
    return {};
  return document.child(root).child(child).text().get();
}

std::string xml_escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '&') out += "&amp;";
    else if (c == '<') out += "&lt;";
    else if (c == '>') out += "&gt;";
    else if (c == '\r') out += "&#13;";  // bare, it would be read as the end of a line
    else out += c;
  }
  return out;
}

bool fits_xml(std::string_view text) noexcept {
  while (!text.empty()) {
    const int32_t character = take_character(text);
    const bool is_layout = character == '\t' || character == '\n' || character == '\r';
    if (character < ' ' && !is_layout) return false;  // also what is no UTF-8
    if (character == 0xFFFE || character == 0xFFFF) return false;
  }
  return true;
}

}  // namespace det::cloud
