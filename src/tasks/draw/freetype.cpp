#include "tasks/draw/freetype.h"

#include <dlfcn.h>

#include <algorithm>
#include <cmath>
#include <mutex>

#include <fmt/format.h>

namespace lanner {
namespace {

// Types of FreeType 2 as its reference describes them (freetype.org, "FreeType API Reference": FT_FaceRec,
// FT_GlyphSlotRec, FT_Bitmap). Faces and slots end with the last field that is read; FreeType makes them
// itself and only ever appends fields.
struct Vector {
  long x, y;
};
struct Generic {
  void* data;
  void (*finalizer)(void*);
};
struct Bitmap {
  unsigned rows, width;
  int pitch;
  unsigned char* buffer;
  unsigned short gray_levels;
  unsigned char pixel_mode, palette_mode;
  void* palette;
};
struct GlyphSlot {
  void *library, *face, *next;
  unsigned glyph_index;
  Generic generic;
  long metrics[8];
  long linear_advance_x, linear_advance_y;
  Vector advance; ///< In 64ths of a pixel.
  unsigned format;
  Bitmap bitmap;
  int bitmap_left, bitmap_top;
};
struct Face {
  long face_count, face_index, face_flags, style_flags, glyph_count;
  char *family_name, *style_name;
  int fixed_size_count;
  void* fixed_sizes;
  int charmap_count;
  void* charmaps;
  Generic generic;
  long box[4];
  unsigned short units_per_em;
  short ascender, descender, height, max_advance_width, max_advance_height, underline_position,
      underline_thickness;
  GlyphSlot* glyph;
};
using Library = struct FreeTypeLibraryTag*;

constexpr long face_scalable = 1;            ///< FT_FACE_FLAG_SCALABLE
constexpr std::int32_t load_render = 4;      ///< FT_LOAD_RENDER
constexpr std::int32_t load_no_bitmap = 8;   ///< FT_LOAD_NO_BITMAP
constexpr std::int32_t load_light = 1 << 16; ///< FT_LOAD_TARGET_LIGHT
constexpr unsigned char pixels_gray = 2;     ///< FT_PIXEL_MODE_GRAY
constexpr int most_pixels = 512, measured_size = 100;
constexpr const char* library_name = "libfreetype.so.6";

struct Api {
  int (*init)(Library*);
  int (*new_memory_face)(Library, const unsigned char*, long, long, Face**);
  int (*done_face)(Face*);
  int (*set_pixel_sizes)(Face*, unsigned, unsigned);
  unsigned (*get_char_index)(Face*, unsigned long);
  int (*load_glyph)(Face*, unsigned, std::int32_t);
};

struct FreeType {
  Api api{};
  Library library = nullptr;
  std::string reason;
};

template<typename Function>
bool bind(void* handle, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(handle, name));
  return function != nullptr;
}

bool bind_all(void* handle, Api& api) {
  return bind(handle, "FT_Init_FreeType", api.init) &&
         bind(handle, "FT_New_Memory_Face", api.new_memory_face) &&
         bind(handle, "FT_Done_Face", api.done_face) &&
         bind(handle, "FT_Set_Pixel_Sizes", api.set_pixel_sizes) &&
         bind(handle, "FT_Get_Char_Index", api.get_char_index) &&
         bind(handle, "FT_Load_Glyph", api.load_glyph);
}

FreeType open_freetype() {
  FreeType opened;
  constexpr const char* remedy = "apt-get install libfreetype6";
  void* handle = ::dlopen(library_name, RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char* message = ::dlerror();
    opened.reason =
        fmt::format("FreeType was not opened ({}); remedy: {}", message ? message : library_name, remedy);
  } else if (!bind_all(handle, opened.api)) {
    opened.reason = fmt::format("{} lacks functions of FreeType 2; remedy: {}", library_name, remedy);
  } else if (opened.api.init(&opened.library) != 0) {
    opened.reason = fmt::format("{} could not be started; remedy: {}", library_name, remedy);
  }
  return opened;
}

const FreeType& freetype() {
  // Leaked on purpose: letters are drawn while static objects are destroyed.
  static const auto* opened = new FreeType(open_freetype());
  return *opened;
}

Face* face_of(void* face) {
  return static_cast<Face*>(face);
}

} // namespace

const std::string& freetype_reason() {
  return freetype().reason;
}

std::unique_ptr<FontFace> FontFace::open(std::span<const std::byte> bytes) {
  if (!freetype().reason.empty()) return nullptr;
  Face* opened = nullptr;
  const auto* data = reinterpret_cast<const unsigned char*>(bytes.data());
  if (freetype().api.new_memory_face(freetype().library, data, static_cast<long>(bytes.size()), 0, &opened) !=
      0)
    return nullptr;
  std::unique_ptr<FontFace> face(new FontFace(opened));
  if ((opened->face_flags & face_scalable) == 0) return nullptr;
  if (face->load(U'H', measured_size)) {
    const float share = static_cast<float>(opened->glyph->bitmap_top) / measured_size;
    if (share > 0.4f && share < 1.2f) face->cap_share_ = share;
  }
  return face;
}

FontFace::~FontFace() {
  freetype().api.done_face(face_of(face_));
}

bool FontFace::has(char32_t code) const {
  return freetype().api.get_char_index(face_of(face_), code) != 0;
}

bool FontFace::load(char32_t code, int size) const {
  Face* face = face_of(face_);
  const Api& api = freetype().api;
  const unsigned index = api.get_char_index(face, code);
  return index != 0 && api.set_pixel_sizes(face, 0, static_cast<unsigned>(size)) == 0 &&
         api.load_glyph(face, index, load_render | load_no_bitmap | load_light) == 0;
}

std::optional<FontGlyph> FontFace::draw(char32_t code, float cap_height) const {
  const float size = std::clamp(cap_height / cap_share_, 1.f, static_cast<float>(most_pixels));
  if (!load(code, static_cast<int>(std::lround(size)))) return std::nullopt;
  const GlyphSlot& slot = *face_of(face_)->glyph;
  const Bitmap& bitmap = slot.bitmap;
  // The font's own hinting determines the actual size of its letters.
  if (bitmap.rows > 8 * most_pixels || bitmap.width > 8 * most_pixels) return std::nullopt;
  FontGlyph glyph{slot.bitmap_left, slot.bitmap_top, 0, 0, static_cast<float>(slot.advance.x) / 64, {}};
  if (!(std::abs(glyph.advance) <= 8 * most_pixels)) return std::nullopt;
  if (bitmap.rows == 0 || bitmap.width == 0) return glyph;
  if (bitmap.pixel_mode != pixels_gray || !bitmap.buffer) return std::nullopt;
  glyph.width = static_cast<std::int32_t>(bitmap.width);
  glyph.height = static_cast<std::int32_t>(bitmap.rows);
  glyph.coverage.resize(static_cast<std::size_t>(bitmap.rows) * bitmap.width);
  // Rows go down from the buffer's start for either sign of the pitch.
  const unsigned char* top =
      bitmap.pitch >= 0 ? bitmap.buffer
                        : bitmap.buffer - static_cast<std::ptrdiff_t>(bitmap.pitch) * (glyph.height - 1);
  for (std::int32_t row = 0; row < glyph.height; ++row)
    std::copy_n(top + static_cast<std::ptrdiff_t>(bitmap.pitch) * row, bitmap.width,
                glyph.coverage.data() + static_cast<std::size_t>(row) * bitmap.width);
  return glyph;
}

} // namespace lanner
