#include "plot_output.h"

#include <charconv>
#include <map>

#include "output_file.h"
#include "picture.h"
#include "plot.h"
#include "terminal_picture.h"

namespace det::cli {

namespace {

constexpr int least_size = 100, most_size = 4000;  // points
constexpr int png_scale = 2;                       // for screens of today, and for print

const std::map<std::string, PictureProtocol> protocols = {{"auto", PictureProtocol::none},
                                                          {"kitty", PictureProtocol::kitty},
                                                          {"iterm", PictureProtocol::iterm},
                                                          {"sixel", PictureProtocol::sixel},
                                                          {"none", PictureProtocol::none}};

PictureFormat format_of(const PlotOutput &output) {
  const std::string &name = output.format.empty() ? output.file : output.format;
  const auto format = picture_format(name);
  if (format) return *format;
  throw Failure(ExitCode::usage,
                "'" + name + "' is no format: choose svg, pdf or png" +
                    (output.format.empty() ? " with --format, or as the end of FILE" : ""));
}

void write_picture(const Figure &figure, const PlotOutput &output) {
  const PictureFormat format = format_of(output);
  const int scale = format == PictureFormat::png ? png_scale : 1;
  const std::string picture = draw_picture(
      figure, format, {output.width * scale, output.height * scale, static_cast<double>(scale)});
  if (output.file == "-") return print(picture);
  OutputFile file(output.file);
  file.write(picture);
  file.finish();
  print("Wrote " + printable(output.file) + ".\n");
}

// "800x450".
void parse_size(const std::string &text, PlotOutput &output) {
  int width = 0, height = 0;
  const char *end = text.data() + text.size();
  const auto [cross, error] = std::from_chars(text.data(), end, width);
  if (error == std::errc() && cross != end && *cross == 'x') {
    const auto [stop, wrong] = std::from_chars(cross + 1, end, height);
    if (wrong != std::errc() || stop != end) height = 0;
  }
  if (width < least_size || height < least_size || width > most_size || height > most_size)
    throw Failure(ExitCode::usage, "'" + text + "' is no size: give WIDTHxHEIGHT, each from " +
                                       std::to_string(least_size) + " to " +
                                       std::to_string(most_size) + " points, such as 800x450");
  output.width = width;
  output.height = height;
}

PictureTerminal picture_terminal(const PlotOutput &output, const Terminal &terminal) {
  if (output.ascii || output.picture == "none") return {};
  if (output.picture == "auto") return detect_picture_terminal(terminal);
  return {.protocol = protocols.at(output.picture)};
}

}  // namespace

void add_plot_output(CLI::App *command, PlotOutput &output) {
  command
      ->add_option("-o,--output", output.file, "Write a picture to this file ('-': to the output).")
      ->type_name("FILE");
  command->add_option("--format", output.format, "svg, pdf or png, whatever FILE is called.")
      ->type_name("PICTURE");
  command
      ->add_option_function<std::string>(
          "--size", [&output](const std::string &text) { parse_size(text, output); },
          "Of the picture, in points: 800x450 if not given.")
      ->type_name("SIZE");
  command
      ->add_option("--picture", output.picture,
                   "In the terminal: auto, kitty, iterm, sixel or none (text).")
      ->type_name("PROTOCOL")
      ->check([](const std::string &name) {
        return protocols.contains(name) ? std::string()
                                        : "there is no protocol '" + name +
                                              "': choose auto, kitty, iterm, sixel or none";
      });
  command->add_flag("--ascii", output.ascii, "Only ASCII characters.");
}

void check_plot_output(const PlotOutput &output) {
  if (!output.file.empty()) format_of(output);
  else if (!output.format.empty())
    throw Failure(ExitCode::usage, "--format is for a file: give it with -o, '-' for the output");
}

void show_plot(const Session &session, const Figure &figure, const PlotOutput &output) {
  if (!output.file.empty()) return write_picture(figure, output);
  Terminal terminal = session.terminal;
  terminal.utf8 = terminal.utf8 && !output.ascii;
  const PictureTerminal pictures = picture_terminal(output, terminal);
  print(pictures.protocol == PictureProtocol::none ? render_plot(figure, terminal)
                                                   : picture_for(figure, pictures, terminal));
}

}  // namespace det::cli
