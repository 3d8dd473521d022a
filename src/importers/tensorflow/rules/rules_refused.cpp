// Operators that no graph of ours can express, refused by name with the reason and what to do instead.

#include <sstream>

#include "importers/tensorflow/rules/rules.h"

namespace lanner::tensorflow {
namespace {

struct Refusal {
  const char *why, *operators; ///< Names with spaces between them.
};

constexpr Refusal refusals[] = {
    {"an array of TensorFlow 1 that is joined or split; build the model with control flow of version 2",
     "TensorArrayConcatV3 TensorArraySplitV3"},
    {"it decodes a file; begin the network at its pixels or samples: choose outputs or cut the "
     "graph behind it",
     "DecodeJpeg DecodePng DecodeBmp DecodeGif DecodeImage DecodeAndCropJpeg DecodeRaw DecodeWav "
     "ReadFile ParseExample ParseExampleV2 ParseSingleExample DecodeCSV EncodeJpeg EncodePng"},
    {"a table whose entries are loaded when the model starts; map text to numbers outside of the "
     "network",
     "HashTable HashTableV2 LookupTableFind LookupTableFindV2 MutableHashTableV2 LookupTableSizeV2 "
     "LookupTableExportV2 StringToHashBucketFast StringToHashBucketStrong"},
    {"arithmetic of quantised integers; convert the model with real numbers and give its ranges by "
     "QuantizeAndDequantize or FakeQuant",
     "QuantizedConv2D QuantizedMatMul QuantizedRelu QuantizedRelu6 QuantizedMaxPool QuantizedAvgPool "
     "QuantizedBiasAdd QuantizedConcat QuantizeV2 Quantize Dequantize Requantize RequantizationRange"},
    {"complex numbers; compute spectra outside of the network or by products with sines and "
     "cosines",
     "FFT IFFT FFT2D IFFT2D FFT3D IFFT3D RFFT IRFFT RFFT2D IRFFT2D Complex ComplexAbs Real Imag Angle "
     "Conj"},
    {"a decomposition whose steps depend on the data; compute it outside of the network",
     "Svd Qr SelfAdjointEigV2 Eig Cholesky Lu MatrixSolve MatrixTriangularSolve MatrixSolveLs "
     "MatrixSquareRoot MatrixExponential MatrixLogarithm LogMatrixDeterminant"},
    {"a special function without an operator of ours; compute it outside of the network",
     "Lgamma Digamma Polygamma Zeta Igamma Igammac Betainc Erfinv Ndtri BesselI0e BesselI1e NextAfter "
     "CumulativeLogsumexp"},
    {"random numbers that depend on a seed given at run time, or on TensorFlow's own generator; "
     "feed them as an input",
     "StatelessRandomUniform StatelessRandomUniformV2 StatelessRandomNormal StatelessRandomNormalV2 "
     "StatelessTruncatedNormal StatelessTruncatedNormalV2 StatelessMultinomial Multinomial "
     "RandomUniformInt TruncatedNormal RandomShuffle RandomGamma"},
    {"it works on text; prepare text outside of the network and feed numbers",
     "StringJoin StringLower StringUpper StringStrip StringSplit StringSplitV2 StringLength Substr "
     "AsString StringFormat RegexReplace StaticRegexReplace RegexFullMatch StaticRegexFullMatch "
     "StringToNumber UnicodeDecode UnicodeDecodeWithOffsets UnicodeTranscode StringNGrams "
     "StringToHashBucket ReduceJoin"},
    {"a sparse or ragged tensor; feed dense numbers, or convert them with tf.sparse.to_dense or "
     "to_tensor before",
     "SparseTensorDenseMatMul SparseReorder SparseReshape SparseConcat SparseAdd SparseReduceSum "
     "SparseSoftmax SparseFillEmptyRows RaggedTensorToTensor RaggedRange RaggedGather"},
    {"text found by dynamic search; choose outputs before it and decode its scores outside of the "
     "network",
     "CTCGreedyDecoder CTCBeamSearchDecoder"},
    {"calls code of the process that made the model; export the model without it",
     "PyFunc EagerPyFunc PyFuncStateless HostCompute XlaHostCompute PartitionedCallRemote RemoteCall"},
    {"suppression by a given table of overlaps; use NonMaxSuppressionV3 on boxes",
     "NonMaxSuppressionWithOverlaps"},
};

} // namespace

void add_refused_rules(Rules& rules) {
  for (const Refusal& refusal : refusals) {
    std::istringstream names(refusal.operators);
    for (std::string name; names >> name;) rules[name] = refused(refusal.why);
  }
}

} // namespace lanner::tensorflow
