#include "shared_mapping.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace npu_console {
namespace {

class Pages {
 public:
  // Null: errno says why.
  static std::shared_ptr<Pages> Map(int descriptor, std::size_t size) {
    void* const address = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    return address == MAP_FAILED ? nullptr : std::shared_ptr<Pages>(new Pages(static_cast<std::uint8_t*>(address), size));
  }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  ~Pages() { munmap(address_, size_); }
  std::uint8_t* address() const { return address_; }
  std::size_t size() const { return size_; }

 private:
  Pages(std::uint8_t* address, std::size_t size) : address_(address), size_(size) {}
  std::uint8_t* const address_;
  const std::size_t size_;
};

// Tokens of buffers that JavaScript let go of. Finalizers run on the thread of their environment, so nothing is locked.
using Freed = std::vector<double>;

// What a lent buffer holds: the pages stay mapped for it, whatever becomes of the file and of who else maps it.
struct LentBuffer {
  std::shared_ptr<Pages> pages;
  std::shared_ptr<Freed> freed;
  double token;
};

void GiveBack(napi_env, void*, void* hint) {
  const std::unique_ptr<LentBuffer> lent(static_cast<LentBuffer*>(hint));
  lent->freed->push_back(lent->token);
}

Napi::Error SystemError(Napi::Env env, const char* what, int number) {
  Napi::Error error = Napi::Error::New(env, std::string(what) + ": " + std::strerror(number));
  error.Set("errno", Napi::Number::New(env, number));
  return error;
}

// new SharedMapping(descriptor: number). See NativeAddon in server-core/backends/native-addon.ts.
class SharedMapping : public Napi::ObjectWrap<SharedMapping> {
 public:
  static Napi::Function Define(Napi::Env env) {
    return DefineClass(env, "SharedMapping", {
      InstanceMethod("claim", &SharedMapping::Claim), InstanceMethod("map", &SharedMapping::MapTo), InstanceMethod("write", &SharedMapping::Write),
      InstanceMethod("read", &SharedMapping::Read), InstanceMethod("lend", &SharedMapping::Lend), InstanceMethod("takeFreed", &SharedMapping::TakeFreed),
      InstanceMethod("close", &SharedMapping::Close),
    });
  }

  explicit SharedMapping(const Napi::CallbackInfo& info) : ObjectWrap(info), descriptor_(static_cast<int>(WholeNumber(info, 0))) {}

 private:
  static std::size_t WholeNumber(const Napi::CallbackInfo& info, std::size_t index) {
    const double number = info[index].IsNumber() ? info[index].As<Napi::Number>().DoubleValue() : -1;
    if (!(number >= 0 && number <= 9007199254740991.0)) throw Napi::TypeError::New(info.Env(), "SharedMapping: expected a whole number");
    return static_cast<std::size_t>(number);
  }

  std::uint8_t* Place(Napi::Env env, std::size_t offset, std::size_t length) const {
    if (!pages_ || offset > pages_->size() || length > pages_->size() - offset) throw Napi::RangeError::New(env, "SharedMapping: beyond the mapped memory");
    return pages_->address() + offset;
  }

  void Claim(const Napi::CallbackInfo& info) {
    int result = 0;
    do {
      result = posix_fallocate(descriptor_, static_cast<off_t>(WholeNumber(info, 0)), static_cast<off_t>(WholeNumber(info, 1)));
    } while (result == EINTR);
    if (result != 0) throw SystemError(info.Env(), "memory could not be claimed", result);
  }

  void MapTo(const Napi::CallbackInfo& info) {
    std::shared_ptr<Pages> pages = Pages::Map(descriptor_, WholeNumber(info, 0));
    if (!pages) throw SystemError(info.Env(), "memory could not be mapped", errno);
    pages_ = std::move(pages);
  }

  void Write(const Napi::CallbackInfo& info) {
    if (!info[1].IsTypedArray()) throw Napi::TypeError::New(info.Env(), "SharedMapping.write takes an offset and bytes");
    const auto bytes = info[1].As<Napi::Uint8Array>();
    const std::size_t length = bytes.ByteLength();
    std::uint8_t* const place = Place(info.Env(), WholeNumber(info, 0), length);
    if (length > 0) std::memcpy(place, bytes.Data(), length);
  }

  void Read(const Napi::CallbackInfo& info) {
    if (!info[1].IsTypedArray()) throw Napi::TypeError::New(info.Env(), "SharedMapping.read takes an offset and where the bytes go");
    auto target = info[1].As<Napi::Uint8Array>();
    const std::size_t length = target.ByteLength();
    const std::uint8_t* const place = Place(info.Env(), WholeNumber(info, 0), length);
    if (length > 0) std::memcpy(target.Data(), place, length);
  }

  Napi::Value Lend(const Napi::CallbackInfo& info) {
    const std::size_t length = WholeNumber(info, 1);
    std::uint8_t* const place = Place(info.Env(), WholeNumber(info, 0), length);
    if (!can_lend_ || length == 0) return info.Env().Null();
    auto lent = std::make_unique<LentBuffer>(LentBuffer{pages_, freed_, static_cast<double>(WholeNumber(info, 2))});
    napi_value value = nullptr;
    const napi_status status = napi_create_external_buffer(info.Env(), length, place, GiveBack, lent.get(), &value);
    if (status == napi_ok) {
      static_cast<void>(lent.release());
      return Napi::Value(info.Env(), value);
    }
    if (status != napi_no_external_buffers_allowed) throw Napi::Error::New(info.Env());
    can_lend_ = false;
    return info.Env().Null();
  }

  Napi::Value TakeFreed(const Napi::CallbackInfo& info) {
    if (freed_->empty()) return info.Env().Null();
    Napi::Array tokens = Napi::Array::New(info.Env(), freed_->size());
    for (std::uint32_t index = 0; index < freed_->size(); ++index) tokens.Set(index, Napi::Number::New(info.Env(), (*freed_)[index]));
    freed_->clear();
    return tokens;
  }

  void Close(const Napi::CallbackInfo&) { pages_.reset(); }

  const int descriptor_;
  std::shared_ptr<Pages> pages_;
  const std::shared_ptr<Freed> freed_ = std::make_shared<Freed>();
  // False where the engine keeps all memory of buffers in a place of its own.
  bool can_lend_ = true;
};

}  // namespace

void ExportSharedMapping(Napi::Env env, Napi::Object exports) { exports.Set("SharedMapping", SharedMapping::Define(env)); }

}  // namespace npu_console
