// The XML that S3 and Azure speak: what they answer, and what they are sent.
#pragma once

#include <cstdint>
#include <pugixml.hpp>
#include <string>
#include <string_view>

namespace det::cloud {

// A document that came from outside. Entities of its own making are not for these: none is
// expanded.
class XmlDocument {
 public:
  // `what` names it in errors ("the list of 's3://bucket/'"). Throws Code::corrupt unless it is
  // whole and its root is called `root`.
  XmlDocument(std::string_view text, std::string_view root, std::string what);
  XmlDocument(const XmlDocument &) = delete;
  XmlDocument &operator=(const XmlDocument &) = delete;

  // Lives as long as this.
  pugi::xml_node root() const { return document_.document_element(); }

  // Of a child of `element`. These throw Code::corrupt where it is missing, or no such number.
  std::string text(pugi::xml_node element, const char *child) const;
  uint64_t number(pugi::xml_node element, const char *child) const;

 private:
  [[noreturn]] void refuse(const std::string &why) const;

  const std::string what_;
  pugi::xml_document document_;
};

// Of any document: what stands in a child of its root, or nothing. For answers that may be
// anything, such as the errors of a proxy. {"Error", "Code"}: <Error><Code>...
std::string xml_text_at(std::string_view text, const char *root, const char *child);

// As the text of an element.
std::string xml_escaped(std::string_view text);

// Whether XML 1.0 can say it at all: it has no way to write most control characters.
bool fits_xml(std::string_view text) noexcept;

}  // namespace det::cloud
