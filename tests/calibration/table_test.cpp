#include <cfloat>
#include <clocale>
#include <limits>
#include <string>

#include <gtest/gtest.h>

#include <lanner/calibration.h>

#include "base/limits/account.h"
#include "calibration/ranges.h"
#include "expect_error.h"
#include "file_content.h"
#include "temporary_folder.h"

namespace lanner {
namespace {

const std::string header = "lanner calibration 1\n";

TensorRange range(double least, double most, double threshold, Calibrator calibrator = Calibrator::entropy) {
  return {least, most, threshold, calibrator};
}

CalibrationTable some_table() {
  CalibrationTable table;
  table.ranges["conv1"] = range(-1.5, 2.25, 2, Calibrator::entropy);
  table.ranges["input_1:0"] = range(0, 6, 5.0999999046325684, Calibrator::percentile);
  table.ranges["/model/layer 1/Relu\"\\ # x"] = range(0.1, 0.2, 0.1 + 0.2, Calibrator::automatic);
  table.ranges["two\nlines\r\t"] = range(-FLT_MAX, FLT_MAX, 3.4e38, Calibrator::min_max);
  table.ranges["gr\xc3\xbc\xc3\x9f"] = range(-4e-36, 0, 3e-36, Calibrator::legacy);
  table.ranges[std::string("\0\x7f\xff", 3)] = range(-1e-300, 1.0 / 3, 1.0 / 3, Calibrator::entropy2);
  return table;
}

TEST(CalibrationTable, TextIsReadableAndReadsBackExactly) {
  const CalibrationTable table = some_table();
  const std::string text = table.to_string();
  EXPECT_EQ(CalibrationTable::parse(text), table);
  EXPECT_EQ(text.substr(0, header.size()), header);
  for (const char* line :
       {"\n\"conv1\" least=-1.5 most=2.25 threshold=2 calibrator=entropy\n",
        "\n\"two\\nlines\\x0d\\x09\" least=", "\n\"gr\\xc3\\xbc\\xc3\\x9f\" least=-4e-36 most=0 ",
        "threshold=0.30000000000000004 calibrator=auto\n", "\"\\x00\\x7f\\xff\""})
    EXPECT_NE(text.find(line), std::string::npos) << line << " in\n" << text;
  for (const char c : text) EXPECT_TRUE(c == '\n' || (c >= ' ' && c < 0x7f)) << static_cast<int>(c);
  EXPECT_TRUE(CalibrationTable::parse(header).empty());
}

TEST(CalibrationTable, TextDoesNotDependOnTheLocale) {
  const std::string text = some_table().to_string();
  const std::string before = std::setlocale(LC_ALL, nullptr);
  const bool comma = std::setlocale(LC_ALL, "de_DE.UTF-8") != nullptr; // where it is installed
  const std::string there = some_table().to_string();
  const CalibrationTable read = CalibrationTable::parse(text);
  std::setlocale(LC_ALL, before.c_str());
  EXPECT_EQ(there, text) << comma;
  EXPECT_EQ(read, some_table()) << comma;
}

TEST(CalibrationTable, ReadsCommentsBlankLinesAndLinesOfWindows) {
  const CalibrationTable table = CalibrationTable::parse(
      "lanner calibration 1\r\n# made by hand\r\n\r\n  \"gr\xc3\xbc\xc3\x9f\"\tleast=0 most=1e2  "
      "threshold=99.5 calibrator=minmax  \r\n"
      "\"b\" least=-1 most=1 threshold=1 calibrator=legacy");
  EXPECT_EQ(table.ranges, (std::map<std::string, TensorRange>{
                              {"gr\xc3\xbc\xc3\x9f", range(0, 100, 99.5, Calibrator::min_max)},
                              {"b", range(-1, 1, 1, Calibrator::legacy)}}));
}

TEST(CalibrationTable, SavesAndLoadsFiles) {
  const TemporaryFolder folder;
  some_table().save(folder / "a.calibration");
  EXPECT_EQ(CalibrationTable::load(folder / "a.calibration"), some_table());
  EXPECT_EQ(test::content_of(folder / "a.calibration"), some_table().to_string());
  CalibrationTable().save(folder / "a.calibration");
  EXPECT_TRUE(CalibrationTable::load(folder / "a.calibration").empty());
  EXPECT_EQ(folder.entries(), 1u);
  LANNER_EXPECT_ERROR(CalibrationTable::load(folder / "none"), ErrorCode::not_found, "none");
  LANNER_EXPECT_ERROR(some_table().save(folder / "no/folder"), ErrorCode::not_found, "no/folder");
  const auto wrong = folder.write("wrong.txt", header + "\"a\" least=0");
  LANNER_EXPECT_ERROR(CalibrationTable::load(wrong), ErrorCode::bad_data, "wrong.txt: line 2: expected ");
}

TEST(CalibrationTable, WritesNothingThatItWouldNotRead) {
  const double nan_value = std::numeric_limits<double>::quiet_NaN();
  const TemporaryFolder folder;
  for (const TensorRange& wrong : {range(nan_value, 1, 1), range(1, 0, 1), range(0, 1, 0), range(0, 1, -1),
                                   range(0, 1, nan_value), range(0, 1, 1e-300), range(0, 1, 1e300)}) {
    CalibrationTable table;
    table.ranges["a"] = wrong;
    LANNER_EXPECT_ERROR(table.save(folder / "t"), ErrorCode::invalid_argument, "range of tensor 'a': ");
  }
  EXPECT_EQ(folder.entries(), 0u);
}

struct Hostile {
  std::string text;
  const char* message;
};

TEST(CalibrationTable, RefusesDamagedTextsWithLineAndWhatWasExpected) {
  const std::string line = "\"a\" least=0 most=1 threshold=1 calibrator=entropy\n";
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string changed = line;
    return header + changed.replace(changed.find(from), from.size(), to);
  };
  const Hostile hostile[] = {
      {"", "line 1: expected 'lanner calibration 1'"},
      {"PK\x03\x04", "line 1: expected 'lanner calibration 1'"},
      {"\xef\xbb\xbf" + header, "line 1: expected"},
      {"lanner calibration 2\n" + line, "line 1: version '2' of the calibration table: expected 1"},
      {header + line + "\n" + line, "line 4: a second range of tensor 'a'"},
      {header + "conv1: 3c010a14\n", "line 2: expected \"tensor\" least="},
      {header + "\"\" least=0 most=1 threshold=1 calibrator=entropy", "line 2: expected the name"},
      {header + "\"a", "got the end of the line at byte 3"},
      {header + "\"a\\", "line 2: expected"},
      {header + "\"a\\x4", "line 2: expected"},
      {header + "\"a\\xzz\" least=0", "line 2: expected"},
      {header + "\"a\\u00e9\" least=0", "line 2: expected"},
      {with("least=0", ""), "got 'most=1 threshold=1 calibrator=entropy' at byte 6"},
      {with("least=0", "least="), "least=: expected a finite number"},
      {with("least=0", "least=nan"), "least=nan: expected a finite number"},
      {with("most=1", "most=inf"), "most=inf: expected a finite number"},
      {with("most=1", "most=1e999"), "most=1e999: expected a finite number"},
      {with("most=1", "most=1,5"), "most=1,5: expected a finite number"},
      {with("most=1", "most=0x1"), "most=0x1: expected a finite number"},
      {with("least=0", "least=2"), "least 2 and most 1: expected two finite numbers, the smaller one first"},
      {with("threshold=1", "threshold=0"), "threshold 0: expected a number from 3e-36 to 3.4e+38"},
      {with("threshold=1", "threshold=-1"), "threshold -1: expected"},
      {with("threshold=1", "threshold=1e-60"), "threshold 1e-60: expected"},
      {with("entropy", "entropy3"), "calibrator 'entropy3': expected one of auto, entropy"},
      {with("entropy", "entropy more"), "got ' more'"},
      {header + std::string("\"a\0b", 4), "line 2: expected"},
  };
  for (const Hostile& one : hostile) {
    SCOPED_TRACE(one.text);
    LANNER_EXPECT_ERROR(CalibrationTable::parse(one.text), ErrorCode::bad_data, one.message);
  }
}

TEST(CalibrationTable, MessagesOfLongNamesAreShort) {
  const std::string name(1 << 20, 'x');
  try {
    CalibrationTable::parse(header + "\"" + name + "\" leest=0");
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_LT(error.message().size(), 300u);
  }
}

TEST(CalibrationTable, IsReadWithinLimits) {
  Limits limits;
  limits.nodes = 2;
  const AccountPtr account = std::make_shared<Account>(limits);
  const AccountScope scope(account);
  std::string text = header;
  for (const char* name : {"a", "b"})
    text += std::string("\"") + name + "\" least=0 most=1 threshold=1 calibrator=auto\n";
  EXPECT_EQ(CalibrationTable::parse(text).ranges.size(), 2u);
  text += "\"c\" least=0 most=1 threshold=1 calibrator=auto\n";
  LANNER_EXPECT_ERROR(CalibrationTable::parse(text), ErrorCode::limit_exceeded,
                      "line 4: 3 tensors, over the limit nodes");
}

TEST(TensorRTCache, GivesThresholdsOfItsScales) {
  // As the documentation of TensorRT's sampleINT8 prints it, and a name with colons.
  const CalibrationTable table = CalibrationTable::parse("TRT-7000-EntropyCalibration2\n"
                                                         "data: 3c008912\n"
                                                         "prob: 3c010a14\n"
                                                         "(Unnamed Layer* 22) [Constant]_output: 3A4B050C\r\n"
                                                         "conv1/convolution:0: 3d0b7086\n"
                                                         "#1: 3f800000\n");
  ASSERT_EQ(table.ranges.size(), 5u);
  EXPECT_NEAR(table.ranges.at("prob").threshold, 1.0002441, 1e-7); // 0.007875937968492508 * 127
  EXPECT_NEAR(table.ranges.at("data").threshold, 0.9963379, 1e-7);
  EXPECT_EQ(table.ranges.at("#1"), range(-127, 127, 127, Calibrator::entropy2));
  EXPECT_NEAR(table.ranges.at("conv1/convolution:0").threshold, 4.3234429, 1e-7);
  EXPECT_GT(table.ranges.at("(Unnamed Layer* 22) [Constant]_output").threshold, 0);
  EXPECT_TRUE(table.ranges.at("prob").has_negative());
  EXPECT_EQ(CalibrationTable::parse(table.to_string()), table);
}

TEST(TensorRTCache, OfEachCalibratorIsRead) {
  const auto calibrator = [](const std::string& first) {
    return CalibrationTable::parse(first + "\na: 3f800000").ranges.at("a").calibrator;
  };
  EXPECT_EQ(calibrator("TRT-5105-EntropyCalibration2"), Calibrator::entropy2);
  EXPECT_EQ(calibrator("TRT-8401-EntropyCalibration"), Calibrator::entropy);
  EXPECT_EQ(calibrator("TRT-100300-MinMaxCalibration"), Calibrator::min_max);
  EXPECT_EQ(calibrator("TRT-3001-LegacyCalibration"), Calibrator::legacy);
  EXPECT_EQ(calibrator("TRT-8XXX-EntropyCalibration2\r"), Calibrator::entropy2) << "made up by a script";
}

TEST(TensorRTCache, ScaleOfZerosGivesAThresholdAboveZero) {
  const CalibrationTable table =
      CalibrationTable::parse("TRT-8601-EntropyCalibration2\na: 0\nb: 00000001\nc: 7f7fffff\n");
  EXPECT_EQ(table.ranges.at("a").threshold, 1);
  EXPECT_GT(table.ranges.at("b").threshold, 1e-37);
  EXPECT_EQ(table.ranges.at("c").threshold, 3.4e38);
}

TEST(TensorRTCache, RefusesDamagedTextsWithLineAndWhatWasExpected) {
  const std::string first = "TRT-8601-EntropyCalibration2\n";
  const Hostile hostile[] = {
      {"TRT-", "line 1: expected EntropyCalibration2"},
      {"TRT-8601-EntropyCalibration3\n", "line 1: expected EntropyCalibration2"},
      {first + "a: 3f800000\nb\n", "line 3: expected 'tensor: scale', got 'b'"},
      {first + "a: 3f80000g\n",
       "expected a scale of up to 8 hexadecimal digits, such as 3c010a14, got '3f80000g'"},
      {first + "a: 03f800000\n", "line 2: expected a scale"},
      {first + "a: -1\n", "line 2: expected a scale"},
      {first + "a: 0x3f800000\n", "line 2: expected a scale"},
      {first + "a: \n", "line 2: expected 'tensor: scale'"},
      {first + ": 3f800000\n", "line 2: expected the name of a tensor"},
      {first + "a: 7f800000\n", "scale 7f800000 is inf: expected a finite number of at least 0"},
      {first + "a: 7fc00000\n", "scale 7fc00000 is nan: expected"},
      {first + "a: bf800000\n", "scale bf800000 is -1: expected"},
      {first + "a: 3f800000\n\na: 3f800000\n", "line 4: a second range of tensor 'a'"},
  };
  for (const Hostile& one : hostile) {
    SCOPED_TRACE(one.text);
    LANNER_EXPECT_ERROR(CalibrationTable::parse(one.text), ErrorCode::bad_data, one.message);
  }
}

TEST(Calibrator, NamesAreReadBack) {
  for (const Calibrator calibrator : {Calibrator::automatic, Calibrator::entropy, Calibrator::entropy2,
                                      Calibrator::min_max, Calibrator::percentile, Calibrator::legacy})
    EXPECT_EQ(parse_calibrator(calibrator_name(calibrator)), calibrator);
  EXPECT_EQ(calibrator_name(Calibrator::automatic), "auto");
  EXPECT_EQ(calibrator_name(Calibrator::min_max), "minmax");
  LANNER_EXPECT_ERROR(parse_calibrator("percentil"), ErrorCode::invalid_argument, "did you mean percentile?");
  LANNER_EXPECT_ERROR(parse_calibrator(""), ErrorCode::invalid_argument, "expected one of auto, entropy, ");
}

TEST(UserRange, BecomesSymmetricByItsLargerMagnitude) {
  EXPECT_EQ(symmetric_range(-1, 3), range(-1, 3, 3, Calibrator::min_max));
  EXPECT_EQ(symmetric_range(-3, 1).threshold, 3);
  EXPECT_EQ(symmetric_range(0, 6).threshold, 6);
  EXPECT_FALSE(symmetric_range(0, 6).has_negative());
  EXPECT_EQ(symmetric_range(0, 0).threshold, 1);
  EXPECT_GT(symmetric_range(0, 1e-300).threshold, 1e-37);
  check_range(symmetric_range(-1e300, 1e300));
  const double nan_value = std::numeric_limits<double>::quiet_NaN(),
               infinite = std::numeric_limits<double>::infinity();
  for (const auto& [least, most] :
       {std::pair{nan_value, 1.}, {0., nan_value}, {-infinite, 0.}, {0., infinite}, {1., 0.}})
    LANNER_EXPECT_ERROR(symmetric_range(least, most), ErrorCode::invalid_argument,
                        "expected two finite numbers, the smaller one first");
}

TEST(UserRange, WinsOverCalibrationWhichFillsTheRest) {
  CalibrationTable user, calibrated;
  user.ranges["a"] = range(-1, 1, 1);
  calibrated.ranges["a"] = range(-2, 2, 2);
  calibrated.ranges["b"] = range(0, 3, 3);
  EXPECT_EQ(merged(user, calibrated).ranges,
            (std::map<std::string, TensorRange>{{"a", range(-1, 1, 1)}, {"b", range(0, 3, 3)}}));
}

} // namespace
} // namespace lanner
