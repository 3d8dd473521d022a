/* Images, inputs that take them, and video. */

#include "c_test.h"

void check_images(const lanner_engine* engine) {
  static unsigned char pixels[10 * 64];
  const void* planes[] = {pixels};
  const int64_t pitches[] = {64};
  const lanner_image* pictures[2];
  lanner_image_info info;
  lanner_image *image = NULL, *back = NULL;
  lanner_context* context = NULL;
  DLManagedTensorVersioned* tensor = NULL;
  int i;
  for (i = 0; i < 10 * 64; ++i) pixels[i] = i % 64 % 3 == 1 ? 200 : 20;
  REFUSE(lanner_image_create("rgb", 20, 10, planes, pitches, &image, &error), LANNER_INVALID_ARGUMENT,
         "rgb24");
  REFUSE(lanner_image_create("rgb24", 22, 10, planes, pitches, &image, &error), LANNER_INVALID_ARGUMENT,
         "66 bytes");
  REFUSE(lanner_image_create("rgb24", -1, 10, planes, pitches, &image, &error), LANNER_INVALID_ARGUMENT,
         "-1x10");
  REFUSE(lanner_image_create("rgb24", 20, 10, NULL, pitches, &image, &error), LANNER_INVALID_ARGUMENT,
         "planes");
  SUCCEED(lanner_image_create("rgb24", 20, 10, planes, pitches, &image, &error));
  memset(pixels, 0, sizeof pixels);
  memset(&info, 0, sizeof info);
  info.struct_size = sizeof info;
  SUCCEED(lanner_image_describe(image, &info, &error));
  REQUIRE(info.width == 20 && info.height == 10 && strcmp(info.format, "rgb24") == 0);
  SUCCEED(lanner_image_to_tensor(image, preprocess, &tensor, &error));
  REQUIRE(tensor->dl_tensor.ndim == 4 && tensor->dl_tensor.shape[2] == 8);
  REQUIRE(((float*)tensor->dl_tensor.data)[0] == 20.f && ((float*)tensor->dl_tensor.data)[64] == 200.f);
  tensor->deleter(tensor);
  REFUSE(lanner_image_to_tensor(image, "resnet", &tensor, &error), LANNER_INVALID_ARGUMENT, "imagenet");
  REFUSE(lanner_image_to_tensor(image, "{\"size\": 3}", &tensor, &error), LANNER_BAD_DATA, "size");
  REFUSE(lanner_image_to_tensor(image, NULL, &tensor, &error), LANNER_INVALID_ARGUMENT, "preprocess is null");
  REFUSE(lanner_image_load("absent.png", &back, &error), LANNER_NOT_FOUND, "absent.png");
  REFUSE(lanner_image_save(image, "picture.xyz", &error), LANNER_UNSUPPORTED, "xyz");
  SUCCEED(lanner_image_save(image, "picture.png", &error));
  SUCCEED(lanner_image_load("picture.png", &back, &error));

  SUCCEED(lanner_context_create(engine, NULL, &context, &error));
  pictures[0] = image;
  pictures[1] = back;
  SUCCEED(lanner_context_bind_images(context, "input", pictures, 2, NULL, &error));
  lanner_image_destroy(image);
  lanner_image_destroy(back);
  SUCCEED(lanner_context_run(context, &error));
  REQUIRE(answer(context, 2) == 1);
  pictures[1] = NULL;
  REFUSE(lanner_context_bind_images(context, "input", pictures + 1, 1, NULL, &error), LANNER_INVALID_ARGUMENT,
         "images[0] is null");
  REFUSE(lanner_context_bind_images(context, "input", NULL, 0, NULL, &error), LANNER_INVALID_ARGUMENT,
         "no image");
  lanner_context_destroy(context);
}

static lanner_image* picture_of(int32_t width, int32_t height, int channel) {
  static unsigned char pixels[64 * 64 * 3];
  const void* planes[] = {pixels};
  const int64_t pitches[] = {width * 3};
  lanner_image* image = NULL;
  int i;
  for (i = 0; i < width * height * 3; ++i) pixels[i] = i % 3 == channel ? 200 : 20;
  SUCCEED(lanner_image_create("rgb24", width, height, planes, pitches, &image, &error));
  return image;
}

/* An input that takes images, of a format and of any size. */
void check_pictures(const char* model) {
  lanner_image_input picture = {"input", "rgb24x", NULL};
  lanner_build_options options;
  lanner_binding binding;
  lanner_engine* engine = NULL;
  lanner_context* context = NULL;
  lanner_image* images[2];
  memset(&options, 0, sizeof options);
  options.struct_size = sizeof options;
  options.budget = -1;
  options.image_count = 1;
  REFUSE(lanner_engine_build(model, &options, &engine, &error), LANNER_INVALID_ARGUMENT, "images is null");
  options.images = &picture;
  REFUSE(lanner_engine_build(model, &options, &engine, &error), LANNER_INVALID_ARGUMENT, "rgb24x");
  picture.format = "rgb24";
  REFUSE(lanner_engine_build(model, &options, &engine, &error), LANNER_INVALID_ARGUMENT,
         "preprocess of images is null");
  picture.preprocess = preprocess;
  SUCCEED(lanner_engine_build(model, &options, &engine, &error));
  memset(&binding, 0, sizeof binding);
  binding.struct_size = sizeof binding;
  SUCCEED(lanner_engine_input(engine, 0, &binding, &error));
  REQUIRE(strcmp(binding.image, "rgb24") == 0);
  SUCCEED(lanner_engine_output(engine, 0, &binding, &error));
  REQUIRE(strcmp(binding.image, "") == 0);
  SUCCEED(lanner_context_create(engine, NULL, &context, &error));
  REFUSE(lanner_context_bind(context, "input", batch_of(1, 2), &error), LANNER_INVALID_ARGUMENT,
         "bind an Image");
  images[0] = picture_of(20, 10, 0);
  images[1] = picture_of(7, 33, 2);
  SUCCEED(lanner_context_bind_images(context, "input", (const lanner_image* const*)images, 2, NULL, &error));
  lanner_image_destroy(images[0]);
  SUCCEED(lanner_context_run(context, &error));
  REQUIRE(answer(context, 2) == 2);
  SUCCEED(
      lanner_context_bind_images(context, "input", (const lanner_image* const*)images + 1, 1, NULL, &error));
  lanner_image_destroy(images[1]);
  SUCCEED(lanner_context_run(context, &error));
  REQUIRE(answer(context, 1) == 2);
  lanner_context_destroy(context);
  lanner_engine_destroy(engine);
}

void check_video(const lanner_engine* engine, const char* clip) {
  lanner_video_options options;
  lanner_video_info facts;
  lanner_frame_info frame;
  lanner_video* video = NULL;
  lanner_image* image = NULL;
  const lanner_image* pictures[1];
  lanner_context* context = NULL;
  int64_t count = 0;
  REFUSE(lanner_video_open("absent.mp4", NULL, &video, &error), LANNER_NOT_FOUND, "absent.mp4");
  REFUSE(lanner_video_open("saved.plan", NULL, &video, &error), LANNER_BAD_DATA, "saved.plan");
  memset(&options, 0, sizeof options);
  options.struct_size = sizeof options;
  options.threads = 1;
  SUCCEED(lanner_video_open(clip, &options, &video, &error));
  memset(&facts, 0, sizeof facts);
  facts.struct_size = sizeof facts;
  SUCCEED(lanner_video_describe(video, &facts, &error));
  REQUIRE(facts.width == 64 && facts.height == 48 && strcmp(facts.codec, "h264") == 0);
  REQUIRE(facts.rate_num == 25 * facts.rate_den && facts.duration > 0.4);
  SUCCEED(lanner_video_frame_count(video, &count, &error));
  REQUIRE(count == 12);
  memset(&frame, 0, sizeof frame);
  REFUSE(lanner_video_next(video, &image, &frame, &error), LANNER_INVALID_ARGUMENT, "struct_size");
  REQUIRE(image == NULL);
  frame.struct_size = sizeof frame;
  SUCCEED(lanner_video_read(video, 10, &image, &frame, &error));
  REQUIRE(frame.index == 10 && frame.pts * frame.tick_num * 25 == 10 * frame.tick_den && !frame.corrupt);
  lanner_image_destroy(image);
  SUCCEED(lanner_video_next(video, &image, &frame, &error));
  REQUIRE(image && frame.index == 11);
  pictures[0] = image;
  SUCCEED(lanner_video_next(video, &image, NULL, &error));
  REQUIRE(image == NULL);
  REFUSE(lanner_video_read(video, 12, &image, &frame, &error), LANNER_INVALID_ARGUMENT, "12");
  REFUSE(lanner_video_read(video, -1, &image, &frame, &error), LANNER_INVALID_ARGUMENT, "-1");
  REFUSE(lanner_video_frame_count(NULL, &count, &error), LANNER_INVALID_ARGUMENT, "video is null");
  lanner_video_destroy(video);

  SUCCEED(lanner_context_create(engine, NULL, &context, &error));
  SUCCEED(lanner_context_bind_images(context, "input", pictures, 1, preprocess, &error));
  lanner_image_destroy((lanner_image*)pictures[0]);
  SUCCEED(lanner_context_run(context, &error));
  REQUIRE(answer(context, 1) == 1);
  lanner_context_destroy(context);
}
