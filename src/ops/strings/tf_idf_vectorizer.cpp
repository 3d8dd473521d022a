// Counts of n-grams in rows of integers or strings.

#include <algorithm>
#include <map>

#include "base/check.h"
#include "base/limits/account.h"
#include "ops/table/arguments.h"
#include "ops/table/table.h"
#include "ops/traits.h"

namespace lanner::ops {

namespace {

/// The n-grams of the pool: for each length, a map from items to its number.
template<typename T>
using Pool = std::map<std::vector<T>, std::size_t>;

/// The pool lists all 1-grams, then all 2-grams and so on; starts[n - 1] is where the n-grams begin.
template<typename T>
Pool<T> read_pool(const std::vector<T>& items, const std::vector<std::int64_t>& starts,
                  std::size_t coordinates) {
  Pool<T> pool;
  std::size_t number = 0;
  for (std::size_t n = 1; n <= starts.size(); ++n) {
    const std::int64_t begin = starts[n - 1];
    const std::int64_t end = n < starts.size() ? starts[n] : static_cast<std::int64_t>(items.size());
    check(begin >= 0 && begin <= end && end <= static_cast<std::int64_t>(items.size()),
          ErrorCode::invalid_argument,
          "tf_idf_vectorizer: ngram_counts put the {}-grams at {} to {} of {} items", n, begin, end,
          items.size());
    for (std::int64_t at = begin; at + static_cast<std::int64_t>(n) <= end;
         at += static_cast<std::int64_t>(n))
      pool.emplace(std::vector<T>(items.begin() + at, items.begin() + at + static_cast<std::int64_t>(n)),
                   number++);
  }
  check(number <= coordinates, ErrorCode::invalid_argument,
        "tf_idf_vectorizer: the pool has {} n-grams, ngram_indexes has {}", number, coordinates);
  return pool;
}

/// Adds the n-grams of one row to `counts`, which has one entry per n-gram of the pool.
template<typename T>
void count_row(std::span<const T> row, const Pool<T>& pool, const AttributeMap& attributes,
               std::vector<float>& counts) {
  const auto shortest = attributes.get<std::int64_t>("min_gram_length");
  const auto& counts_of_pool = attributes.get<std::vector<std::int64_t>>("ngram_counts");
  const auto longest =
      std::min({attributes.get<std::int64_t>("max_gram_length"), static_cast<std::int64_t>(row.size()),
                static_cast<std::int64_t>(counts_of_pool.size())});
  const auto skips =
      std::min(attributes.get<std::int64_t>("max_skip_count"), static_cast<std::int64_t>(row.size()));
  std::vector<T> gram;
  for (std::int64_t n = std::max<std::int64_t>(shortest, 1); n <= longest; ++n) {
    // A 1-gram has no gaps that skips could widen.
    for (std::int64_t distance = 1; distance <= (n == 1 ? 1 : skips + 1); ++distance) {
      for (std::int64_t begin = 0; begin + (n - 1) * distance < static_cast<std::int64_t>(row.size());
           ++begin) {
        if (begin % 256 == 0) check_deadline();
        gram.clear();
        for (std::int64_t i = 0; i < n; ++i)
          gram.push_back(row[static_cast<std::size_t>(begin + i * distance)]);
        if (const auto found = pool.find(gram); found != pool.end()) ++counts[found->second];
      }
    }
  }
}

} // namespace

static std::int64_t output_size(const AttributeMap& attributes) {
  const auto& indexes = attributes.get<std::vector<std::int64_t>>("ngram_indexes");
  std::int64_t size = 0;
  for (const std::int64_t index : indexes) {
    check(index >= 0 && index < INT32_MAX, ErrorCode::invalid_argument, "tf_idf_vectorizer: coordinate {}",
          index);
    size = std::max(size, index + 1);
  }
  return size;
}

static float weighted(float count, float weight, const std::string& mode) {
  if (mode == "TF") return count;
  if (mode == "IDF") return count > 0 ? weight : 0;
  return count * weight;
}

template<typename T>
static void run_typed(KernelContext& context, const Tensor& input, const std::vector<T>& items) {
  const AttributeMap& attributes = context.attributes();
  const auto& mode = attributes.get<std::string>("mode");
  check(mode == "TF" || mode == "IDF" || mode == "TFIDF", ErrorCode::invalid_argument,
        "tf_idf_vectorizer: mode is \"{}\", expected \"TF\", \"IDF\" or \"TFIDF\"", mode);
  const auto& indexes = attributes.get<std::vector<std::int64_t>>("ngram_indexes");
  const auto weights = attributes.get<std::vector<double>>("weights", std::vector<double>(indexes.size(), 1));
  check(weights.size() == indexes.size(), ErrorCode::invalid_argument,
        "tf_idf_vectorizer: {} weights for {} coordinates", weights.size(), indexes.size());
  const Pool<T> pool =
      read_pool(items, attributes.get<std::vector<std::int64_t>>("ngram_counts"), indexes.size());
  Tensor& out = context.output(0);
  const auto width = static_cast<std::size_t>(out.shape().back());
  const auto length = static_cast<std::size_t>(input.shape().back());
  std::ranges::fill(out.as<float>(), 0.0f);
  const std::size_t rows = input.rank() == 2 ? static_cast<std::size_t>(input.shape()[0]) : 1;
  for (std::size_t row = 0; row < rows; ++row) {
    std::vector<float> counts(indexes.size(), 0);
    count_row<T>(input.as<T>().subspan(row * length, length), pool, attributes, counts);
    for (std::size_t i = 0; i < counts.size(); ++i)
      if (counts[i] > 0)
        out.as<float>()[row * width + static_cast<std::size_t>(indexes[i])] =
            weighted(counts[i], static_cast<float>(weights[i]), mode);
  }
}

static void infer_vectorizer(InferContext& context) {
  const Type& input = context.input(0);
  if (!input.ranked()) return context.set_output(0, Type::unranked(DType::f32));
  check(input.rank() == 1 || input.rank() == 2, ErrorCode::invalid_argument,
        "tf_idf_vectorizer: input is {}, expected rank 1 or 2", input.to_string());
  Dims dims = input.dims();
  dims.back() = Dim(output_size(context.attributes()));
  context.set_output(0, Type(DType::f32, std::move(dims)));
}

static void run_vectorizer(KernelContext& context) {
  const AttributeMap& attributes = context.attributes();
  const Tensor& input = context.input(0);
  if (input.dtype() == DType::string)
    return run_typed<std::string>(context, input, attributes.get<std::vector<std::string>>("pool_strings"));
  Tensor wide = Tensor::allocate(DType::i64, input.shape());
  copy_tensor(input, wide);
  run_typed<std::int64_t>(context, wide, attributes.get<std::vector<std::int64_t>>("pool_int64s"));
}

std::vector<OpDef> tf_idf_vectorizer_ops() {
  OpDef op;
  op.name = "tf_idf_vectorizer";
  op.min_inputs = op.max_inputs = 1;
  op.operands = {{"x", dtypes::integers | dtypes::strings}};
  op.attributes = {required_attribute("mode", AttributeKind::string, one_of({"TF", "IDF", "TFIDF"})),
                   required_attribute("min_gram_length", AttributeKind::integer, between(0, INT32_MAX)),
                   required_attribute("max_gram_length", AttributeKind::integer, between(0, INT32_MAX)),
                   required_attribute("max_skip_count", AttributeKind::integer, between(0, INT32_MAX)),
                   required_attribute("ngram_counts", AttributeKind::integers, at_least(0)),
                   required_attribute("ngram_indexes", AttributeKind::integers, between(0, INT32_MAX - 1)),
                   optional_attribute("weights", AttributeKind::reals, finite()),
                   optional_attribute("pool_int64s", AttributeKind::integers, any_integer()),
                   optional_attribute("pool_strings", AttributeKind::strings, any_text())};
  op.infer = infer_vectorizer;
  op.reference = run_vectorizer;
  op.traits = of_pattern(Pattern::text);
  return {op};
}

} // namespace lanner::ops
