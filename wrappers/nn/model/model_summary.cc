#include "wrappers/nn/model/model_summary.h"

#include <algorithm>
#include <array>

#include "core/base/error.h"

namespace det::nn {

namespace {

// Of an input, or of a layer, which is a single row however often it is called.
struct Row {
  std::string name, class_name;
  std::vector<Shape> shapes;  // of what it gives, of all calls
  int64_t parameters = 0;
  std::vector<std::string> called_on;
};

struct Rows {
  std::vector<Row> rows;
  int64_t parameters = 0, trained = 0;
};

template <class T>
void add_new(std::vector<T> &to, const T &one) {
  if (std::find(to.begin(), to.end(), one) == to.end()) to.push_back(one);
}

Rows rows_of(const Graph &graph, const std::vector<Shape> &inputs) {
  Rows table;
  Weights weights;
  ProgramBuilder builder(weights, false);
  size_t counted = 0;
  const bool is_chain = graph.class_name() == "Sequential";
  graph.compute(builder, graph.feed(builder, inputs), [&](const Graph::Called &called) {
    if (is_chain && called.layer == nullptr) return;
    const auto found = std::find_if(table.rows.begin(), table.rows.end(),
                                    [&](const Row &row) { return row.name == called.name; });
    Row &row = found != table.rows.end() ? *found : table.rows.emplace_back();
    row.name = called.name;
    row.class_name = called.layer != nullptr ? called.layer->class_name() : "InputLayer";
    for (const Value value : called.values) row.shapes.push_back(builder.shape(value));
    for (const std::string &from : called.called_on) add_new(row.called_on, from);
    // The weights that there were not before are those of this layer.
    for (; counted < weights.all().size(); ++counted) {
      const WeightOptions &options = weights.at(counted).options;
      const int64_t elements = elements_of(options.shape);
      if (__builtin_add_overflow(table.parameters, elements, &table.parameters))
        throw Error(Code::invalid, "summarising the model '" + graph.name() +
                                       "': it has more parameters than can be counted");
      row.parameters += elements;
      if (options.is_trained) table.trained += elements;
    }
  });
  return table;
}

std::string joined(const std::vector<std::string> &texts) {
  std::string all;
  for (const std::string &text : texts) all += (all.empty() ? "" : ", ") + text;
  return all;
}

// What changes with the batch is not known.
std::string text_of_shapes(const Row &row, const Row &other) {
  std::vector<std::string> texts;
  for (size_t i = 0; i < row.shapes.size(); ++i) {
    Shape shape = row.shapes[i];
    for (size_t axis = 0; axis < shape.size(); ++axis)
      if (shape[axis] != other.shapes.at(i).at(axis)) shape[axis] = unknown;
    add_new(texts, text_of(shape));
  }
  return joined(texts);
}

using Line = std::array<std::string, 5>;
constexpr size_t number_column = 3;

// Columns side by side; what is empty everywhere is left out.
std::string table_of(const std::vector<Line> &lines) {
  std::array<size_t, std::tuple_size_v<Line>> widths{};
  for (const Line &line : lines)
    for (size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], line[i].size());
  std::string text;
  for (const Line &line : lines) {
    std::string written;
    for (size_t i = 0; i < line.size(); ++i) {
      const std::string space(widths[i] - line[i].size(), ' ');
      written += (i == 0 ? "" : "  ");
      written += i == number_column ? space + line[i] : line[i] + space;
    }
    written.erase(written.find_last_not_of(' ') + 1);
    text += written + "\n";
  }
  return text;
}

}  // namespace

std::string summary_of(const Graph &graph, const std::vector<Shape> &some,
                       const std::vector<Shape> &others) {
  const Rows table = rows_of(graph, some), other = rows_of(graph, others);
  const bool is_chain = graph.class_name() == "Sequential";
  std::vector<Line> lines{{"layer", "class", "gives", "parameters", is_chain ? "" : "called on"}};
  for (size_t i = 0; i < table.rows.size(); ++i) {
    const Row &row = table.rows[i];
    lines.push_back({row.name, row.class_name, text_of_shapes(row, other.rows.at(i)),
                     std::to_string(row.parameters), is_chain ? "" : joined(row.called_on)});
  }
  return "model '" + graph.name() + "' (" + graph.class_name() + ")\n\n" + table_of(lines) + "\n" +
         std::to_string(table.parameters) + " parameters: " + std::to_string(table.trained) +
         " are trained, " + std::to_string(table.parameters - table.trained) + " are not\n";
}

}  // namespace det::nn
