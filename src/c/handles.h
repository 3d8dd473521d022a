#pragma once
// Definitions of the opaque types of <lanner/c.h>.

#include <lanner/c.h>
#include <lanner/encoder.h>
#include <lanner/engine.h>
#include <lanner/environment.h>
#include <lanner/image.h>
#include <lanner/video_reader.h>

struct lanner_engine {
  lanner::Engine engine;
};

struct lanner_context {
  lanner::Engine engine;
  lanner::Context context;
};

struct lanner_image {
  lanner::Image image;
};

struct lanner_video {
  lanner::VideoReader reader;
  double duration = reader.demuxer().duration(); ///< A thread that reads may replace the demuxer.
};
