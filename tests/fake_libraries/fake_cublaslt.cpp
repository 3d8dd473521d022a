// The parts of cublasLt* that Lanner uses.

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "device/cuda/cublaslt_api.h"
#include "fake_driver/fake_cuda.h"
#include "fake_libraries/fake_libraries.h"
#include "fake_libraries/reals.h"
#include "fake_libraries/record.h"

namespace {

using lanner::cublaslt::Algorithm;
using lanner::cublaslt::HeuristicResult;

constexpr int invalid_value = 7, not_supported = 15;
constexpr std::size_t workspace_bytes = 1024;

fake::Record& record() {
  static auto* made = new fake::Record;
  return *made;
}

#define LANNER_FAKE_ENTER()                                                                                  \
  if (const int status = record().enter(); status != 0) return status

struct Descriptor {
  std::map<int, std::vector<char>> attributes;
  template<typename T>
  T get(int attribute, T fallback) const {
    const auto found = attributes.find(attribute);
    if (found == attributes.end() || found->second.size() != sizeof(T)) return fallback;
    std::memcpy(&fallback, found->second.data(), sizeof(T));
    return fallback;
  }
  int set(int attribute, const void* value, std::size_t bytes) {
    const auto* first = static_cast<const char*>(value);
    attributes[attribute].assign(first, first + bytes);
    return 0;
  }
};

struct Matrix : Descriptor {
  int type = 0;
  std::uint64_t rows = 0, columns = 0;
  std::int64_t leading = 0;

  std::int64_t batch() const { return get<std::int32_t>(5, 1); }
  std::int64_t step() const { return get<std::int64_t>(6, 0); }
};

/// An operand with its transposition: element (row, column) of matrix `number`.
struct Elements {
  const void* data;
  int type;
  std::int64_t number, row, column;

  Elements(const void* data, const Matrix& form, bool transposed)
      : data(data), type(form.type), number(form.step()), row(transposed ? form.leading : 1),
        column(transposed ? 1 : form.leading) {}
  std::int64_t at(std::int64_t n, std::int64_t i, std::int64_t j) const {
    return n * number + i * row + j * column;
  }
  float operator()(std::int64_t n, std::int64_t i, std::int64_t j) const {
    return fake::load(data, type, at(n, i, j));
  }
};

template<typename T>
int make(T** object) {
  *object = new T;
  record().count_objects(1);
  return 0;
}
template<typename T>
int drop(T* object) {
  delete object;
  record().count_objects(-1);
  return 0;
}

/// Whether the matrices fit together: the real heuristics' checks.
bool consistent(const Descriptor& d, const Matrix& a, const Matrix& b, const Matrix& result) {
  const bool ta = d.get<std::int32_t>(3, 0) == 1, tb = d.get<std::int32_t>(4, 0) == 1;
  const std::uint64_t m = ta ? a.columns : a.rows, k = ta ? a.rows : a.columns, n = tb ? b.rows : b.columns,
                      kb = tb ? b.columns : b.rows;
  const auto fits = [](const Matrix& x) { return x.leading >= static_cast<std::int64_t>(x.rows); };
  return k == kb && result.rows == m && result.columns == n && fits(a) && fits(b) && fits(result) &&
         a.batch() == b.batch() && a.batch() == result.batch();
}

/// One launch: what the library reads when it is called.
struct Product {
  Descriptor operation;
  Matrix a_form, b_form, c_form, result_form;
  float alpha = 1, beta = 0;
  const void *a = nullptr, *b = nullptr, *c = nullptr;
  void* result = nullptr;

  void run() const;
};

void Product::run() const {
  const bool ta = operation.get<std::int32_t>(3, 0) == 1, tb = operation.get<std::int32_t>(4, 0) == 1;
  const auto epilogue = operation.get<std::uint32_t>(7, 1);
  const void* bias = operation.get<const void*>(8, nullptr);
  const auto depth = static_cast<std::int64_t>(ta ? a_form.rows : a_form.columns),
             rows = static_cast<std::int64_t>(result_form.rows),
             columns = static_cast<std::int64_t>(result_form.columns), batch = result_form.batch();
  const int bias_type = operation.get<std::int32_t>(26, 0);
  const Elements left(a, a_form, ta), right(b, b_form, tb), added(c, c_form, false),
      made(result, result_form, false);
  for (std::int64_t n = 0; n < batch; ++n)
    for (std::int64_t row = 0; row < rows; ++row)
      for (std::int64_t column = 0; column < columns; ++column) {
        double sum = 0;
        for (std::int64_t k = 0; k < depth; ++k)
          sum += static_cast<double>(left(n, row, k)) * right(n, k, column);
        float value = alpha * static_cast<float>(sum);
        if (beta != 0) value += beta * added(n, row, column);
        if (epilogue & 4) value += fake::load(bias, bias_type, row);
        if (epilogue & 2) value = std::max(value, 0.0F);
        if (epilogue & 32) value = fake::gelu_tanh(value);
        fake::save(result, made.type, made.at(n, row, column), value);
      }
}

} // namespace

extern "C" {

std::size_t fake_cublaslt_calls() {
  const std::lock_guard lock(record().mutex);
  return record().calls;
}
long fake_cublaslt_objects() {
  const std::lock_guard lock(record().mutex);
  return record().objects;
}
void fake_cublaslt_fail(std::size_t number, int status) {
  const std::lock_guard lock(record().mutex);
  record().fail_at = number;
  record().fail_with = status;
}

std::size_t cublasLtGetVersion() {
  return 130000;
}
const char* cublasLtGetStatusString(int) {
  return "asked for by a test";
}
int cublasLtCreate(void** handle) {
  LANNER_FAKE_ENTER();
  static int only;
  *handle = &only;
  return 0;
}
int cublasLtDestroy(void*) {
  return 0;
}

int cublasLtMatmulDescCreate(Descriptor** made, int compute, int scale) {
  LANNER_FAKE_ENTER();
  if (compute != lanner::cublaslt::compute_f32 || scale != 0) return not_supported;
  return make(made);
}
int cublasLtMatmulDescDestroy(Descriptor* descriptor) {
  return drop(descriptor);
}
int cublasLtMatmulDescSetAttribute(Descriptor* descriptor, int attribute, const void* value,
                                   std::size_t bytes) {
  LANNER_FAKE_ENTER();
  return descriptor->set(attribute, value, bytes);
}

int cublasLtMatrixLayoutCreate(Matrix** made, int type, std::uint64_t rows, std::uint64_t columns,
                               std::int64_t leading) {
  LANNER_FAKE_ENTER();
  make(made);
  (*made)->type = type;
  (*made)->rows = rows;
  (*made)->columns = columns;
  (*made)->leading = leading;
  return 0;
}
int cublasLtMatrixLayoutDestroy(Matrix* matrix) {
  return drop(matrix);
}
int cublasLtMatrixLayoutSetAttribute(Matrix* matrix, int attribute, const void* value, std::size_t bytes) {
  LANNER_FAKE_ENTER();
  return matrix->set(attribute, value, bytes);
}

int cublasLtMatmulPreferenceCreate(Descriptor** made) {
  LANNER_FAKE_ENTER();
  return make(made);
}
int cublasLtMatmulPreferenceDestroy(Descriptor* preference) {
  return drop(preference);
}
int cublasLtMatmulPreferenceSetAttribute(Descriptor* preference, int attribute, const void* value,
                                         std::size_t bytes) {
  LANNER_FAKE_ENTER();
  return preference->set(attribute, value, bytes);
}

/// Two algorithms: a plain one, and one that splits the depth and needs a workspace.
int cublasLtMatmulAlgoGetHeuristic(void*, Descriptor* d, Matrix* a, Matrix* b, Matrix*, Matrix* result,
                                   Descriptor* preference, int room, HeuristicResult* results, int* count) {
  LANNER_FAKE_ENTER();
  *count = 0;
  if (!consistent(*d, *a, *b, *result)) return not_supported;
  for (int i = 0; i < 2 && i < room; ++i) {
    HeuristicResult& made = results[(*count)++];
    made = {};
    made.algorithm.data[0] = static_cast<std::uint64_t>(20 + i);
    made.algorithm.data[1] = static_cast<std::uint64_t>(15 + i);
    made.algorithm.data[2] = static_cast<std::uint64_t>(1 + i);
    made.workspace = i == 0 ? 0 : workspace_bytes;
    made.state = preference->get<std::uint64_t>(1, 0) >= made.workspace ? 0 : not_supported;
  }
  return 0;
}
int cublasLtMatmulAlgoInit(void*, int, int, int, int, int, int, int id, Algorithm* algorithm) {
  LANNER_FAKE_ENTER();
  if (id < 20 || id > 21) return invalid_value;
  *algorithm = {};
  algorithm->data[0] = static_cast<std::uint64_t>(id);
  return 0;
}
int cublasLtMatmulAlgoCheck(void*, Descriptor* d, Matrix* a, Matrix* b, Matrix*, Matrix* result,
                            const Algorithm* algorithm, HeuristicResult* checked) {
  LANNER_FAKE_ENTER();
  if (!consistent(*d, *a, *b, *result) || algorithm->data[1] != algorithm->data[0] - 5) return not_supported;
  *checked = {};
  checked->algorithm = *algorithm;
  checked->workspace = algorithm->data[2] > 1 ? workspace_bytes : 0;
  return 0;
}
/// Supports id, tile and split; the cluster shape came in a later version.
int cublasLtMatmulAlgoConfigGetAttribute(const Algorithm* algorithm, int attribute, void* value,
                                         std::size_t bytes, std::size_t* written) {
  if (attribute > 6 || bytes != 4) return invalid_value;
  const auto found = attribute < 3 ? static_cast<std::uint32_t>(algorithm->data[attribute]) : 0U;
  std::memcpy(value, &found, 4);
  *written = 4;
  return 0;
}
int cublasLtMatmulAlgoConfigSetAttribute(Algorithm* algorithm, int attribute, const void* value,
                                         std::size_t bytes) {
  LANNER_FAKE_ENTER();
  if (attribute == 0 || attribute > 6 || bytes != 4) return invalid_value;
  std::uint32_t given = 0;
  std::memcpy(&given, value, 4);
  if (attribute < 3) algorithm->data[attribute] = given;
  return 0;
}

int cublasLtMatmul(void*, Descriptor* d, const float* alpha, const void* a, Matrix* a_form, const void* b,
                   Matrix* b_form, const float* beta, const void* c, Matrix* c_form, void* result,
                   Matrix* result_form, const Algorithm* algorithm, void* workspace, std::size_t bytes,
                   void* stream) {
  LANNER_FAKE_ENTER();
  if (!consistent(*d, *a_form, *b_form, *result_form)) return invalid_value;
  // Also for zero bytes.
  if (reinterpret_cast<std::uintptr_t>(workspace) % 256 != 0) return invalid_value;
  if (algorithm->data[2] > 1 && (!workspace || bytes < workspace_bytes)) return invalid_value;
  if ((d->get<std::uint32_t>(7, 1) & 4) && !d->get<const void*>(8, nullptr)) return invalid_value;
  const Product product{*d, *a_form, *b_form, *c_form, *result_form, *alpha, *beta, a, b, c, result};
  return fake_cuda_queue(stream, [product] { product.run(); });
}
}
