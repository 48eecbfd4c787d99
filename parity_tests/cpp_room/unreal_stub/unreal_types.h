// As much of Unreal as the plug-in and the example use, so that a compiler reads them here. Every header that they name is an
// empty one beside this file which includes this, unreal_engine.h or unreal_nne.h. Semantics are Unreal's where a test looks at them,
// and nothing where none does. Here: text, containers, maths, locks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cwchar>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <type_traits>
#include <vector>

using int32 = std::int32_t;
using uint32 = std::uint32_t;
using int64 = std::int64_t;
using uint64 = std::uint64_t;
using uint8 = std::uint8_t;
using TCHAR = wchar_t;
#define TEXT(text) L##text
#define RIGPACTTRACE_API

template <class T>
class TArray;

class FString {
public:
    FString() = default;
    FString(const TCHAR* text) : text_(text) {}
    const TCHAR* operator*() const { return text_.c_str(); }
    bool IsEmpty() const { return text_.empty(); }
    bool Contains(const FString& part) const { return text_.find(part.text_) != std::wstring::npos; }
    bool operator==(const FString& that) const { return text_ == that.text_; }
    int32 ParseIntoArray(TArray<FString>& parts, const TCHAR* between) const;
    bool operator<(const FString& that) const { return text_ < that.text_; }
    static FString FromInt(int32 number) { return FString(std::to_wstring(number).c_str()); }
    friend FString operator+(const FString& a, const FString& b) { return FString((a.text_ + b.text_).c_str()); }
    friend FString operator/(const FString& a, const FString& b) { return FString((a.text_ + L"/" + b.text_).c_str()); }

private:
    std::wstring text_;
};

namespace unreal_stub {
inline std::string narrow(const std::wstring& text) {  // the tests' paths and names: Unicode, not beyond U+FFFF
    std::string out;
    for (const wchar_t c : text) {
        const unsigned code = static_cast<unsigned>(c);
        if (code < 0x80) {
            out += static_cast<char>(code);
        } else if (code < 0x800) {
            out += static_cast<char>(0xc0 | code >> 6);
            out += static_cast<char>(0x80 | (code & 0x3f));
        } else {
            out += static_cast<char>(0xe0 | code >> 12);
            out += static_cast<char>(0x80 | (code >> 6 & 0x3f));
            out += static_cast<char>(0x80 | (code & 0x3f));
        }
    }
    return out;
}
inline std::wstring wide(const std::string& text) {
    std::wstring out;
    for (const char c : text) {
        const unsigned byte = static_cast<unsigned char>(c);
        if ((byte & 0xc0) == 0x80) out.back() = static_cast<wchar_t>(static_cast<unsigned>(out.back()) << 6 | (byte & 0x3f));
        else out += static_cast<wchar_t>(byte < 0x80 ? byte : byte < 0xe0 ? byte & 0x1f : byte & 0x0f);
    }
    return out;
}

// Unreal's %s is a TCHAR string and its %hs a char string.
template <class... Arguments>
void log(const TCHAR* format, Arguments... arguments) {
    std::wstring own(format);
    for (std::size_t at = 0; (at = own.find(L"%s", at)) != std::wstring::npos; at += 3) own.insert(at + 1, L"l");
    for (std::size_t at = 0; (at = own.find(L"%hs", at)) != std::wstring::npos; ++at) own.erase(at + 1, 1);
    wchar_t line[1024];
    const int length = std::swprintf(line, 1024, own.c_str(), arguments...);
    std::printf("%s\n", narrow(std::wstring(line, length < 0 ? 0 : static_cast<std::size_t>(length))).c_str());
    std::fflush(stdout);
}
}  // namespace unreal_stub

#define UTF8_TO_TCHAR(text) unreal_stub::wide(text).c_str()
#define TCHAR_TO_UTF8(text) unreal_stub::narrow(text).c_str()
#define DEFINE_LOG_CATEGORY_STATIC(name, level, compiled) struct name##Category {}
#define UE_LOG(category, verbosity, ...) unreal_stub::log(__VA_ARGS__)

template <class T>
class TArray {
public:
    T* GetData() { return items_.data(); }
    const T* GetData() const { return items_.data(); }
    int32 Num() const { return static_cast<int32>(items_.size()); }
    void Add(const T& item) { items_.push_back(item); }
    bool Contains(const T& item) const { return std::find(items_.begin(), items_.end(), item) != items_.end(); }
    void AddUnique(const T& item) {
        if (!Contains(item)) Add(item);
    }
    void RemoveSwap(const T& item) { items_.erase(std::remove(items_.begin(), items_.end(), item), items_.end()); }
    int32 Find(const T& item) const {
        const auto found = std::find(items_.begin(), items_.end(), item);
        return found == items_.end() ? -1 : static_cast<int32>(found - items_.begin());
    }
    bool IsValidIndex(int32 at) const { return at >= 0 && at < Num(); }
    void SetNum(int32 count) { items_.resize(static_cast<std::size_t>(count)); }
    template <class Before>
    void StableSort(Before before) {  // Unreal's hands over the objects that pointers point at
        std::stable_sort(items_.begin(), items_.end(), [&](const T& a, const T& b) { return before(*a, *b); });
    }
    auto begin() const { return items_.begin(); }
    auto end() const { return items_.end(); }
    T& Last() { return items_.back(); }
    const T& Last() const { return items_.back(); }
    T& operator[](int32 at) { return items_[static_cast<std::size_t>(at)]; }
    const T& operator[](int32 at) const { return items_[static_cast<std::size_t>(at)]; }

private:
    std::vector<T> items_;
};

struct FCString {
    static float Atof(const TCHAR* text) { return static_cast<float>(std::wcstod(text, nullptr)); }
};
inline int32 FString::ParseIntoArray(TArray<FString>& parts, const TCHAR* between) const {
    for (std::size_t at = 0, end = 0; end != std::wstring::npos; at = end + 1) {
        end = text_.find(between, at);
        parts.Add(text_.substr(at, end == std::wstring::npos ? end : end - at).c_str());
    }
    return parts.Num();
}

template <class T>
class TArrayView {
public:
    TArrayView(T* data, int32 count) : data_(data), count_(count) {}
    template <class Range, class = std::enable_if_t<std::is_convertible_v<decltype(std::declval<Range&>().GetData()), T*>>>
    TArrayView(Range&& range) : data_(range.GetData()), count_(range.Num()) {}
    template <std::size_t N>
    TArrayView(T (&array)[N]) : data_(array), count_(static_cast<int32>(N)) {}
    T* GetData() const { return data_; }
    int32 Num() const { return count_; }

private:
    T* data_;
    int32 count_;
};

namespace UE::Math {
template <class Real>
struct TVector {
    Real X = 0, Y = 0, Z = 0;
    TVector() = default;
    TVector(Real x, Real y, Real z) : X(x), Y(y), Z(z) {}
    TVector operator*(Real by) const { return {X * by, Y * by, Z * by}; }
    static const TVector ZeroVector;
    static Real DistSquared(const TVector& a, const TVector& b) {
        return (a.X - b.X) * (a.X - b.X) + (a.Y - b.Y) * (a.Y - b.Y) + (a.Z - b.Z) * (a.Z - b.Z);
    }
};
template <class Real>
inline const TVector<Real> TVector<Real>::ZeroVector = {};
template <class Real>
struct TVector2 {
    Real X = 0, Y = 0;
};
template <class Real>
struct TQuat {
    TQuat() = default;
    TQuat(Real x, Real y, Real z, Real w) : X(x), Y(y), Z(z), W(w) {}
    Real X = 0, Y = 0, Z = 0, W = 1;
};
template <class Real>
struct TRotator {
    Real Pitch = 0, Yaw = 0, Roll = 0;
};
template <class Real>
struct TMatrix {
    Real M[4][4] = {};
};
template <class Real>
class TTransform {
public:
    TTransform(const TQuat<Real>& rotation, const TVector<Real>& translation = {}, const TVector<Real>& scale = {1, 1, 1})
        : rotation_(rotation), translation_(translation), scale_(scale) {}
    const TQuat<Real>& GetRotation() const { return rotation_; }
    const TVector<Real>& GetTranslation() const { return translation_; }
    const TVector<Real>& GetScale3D() const { return scale_; }

private:
    TQuat<Real> rotation_;
    TVector<Real> translation_, scale_;
};
}  // namespace UE::Math
using FVector = UE::Math::TVector<double>;
using FVector3f = UE::Math::TVector<float>;
using FVector2D = UE::Math::TVector2<double>;
using FQuat = UE::Math::TQuat<double>;
using FQuat4f = UE::Math::TQuat<float>;
using FRotator = UE::Math::TRotator<double>;
using FMatrix = UE::Math::TMatrix<double>;
using FMatrix44f = UE::Math::TMatrix<float>;
using FTransform = UE::Math::TTransform<double>;
using FTransform3f = UE::Math::TTransform<float>;

template <class T>
struct TNumericLimits {
    static constexpr T Max() { return std::numeric_limits<T>::max(); }
};
struct FMath {
    static double Min(double a, double b) { return a < b ? a : b; }
};
template <class T>
std::remove_reference_t<T>&& MoveTemp(T&& value) {
    return static_cast<std::remove_reference_t<T>&&>(value);
}
template <class Signature>
struct TFunction : std::function<Signature> {
    using std::function<Signature>::function;
};
template <class Key, class Value>
struct TMap : std::map<Key, Value> {
    void Add(const Key& key, Value&& value) { (*this)[key] = std::move(value); }
    const Value* Find(const Key& key) const {
        const auto found = this->find(key);
        return found == this->end() ? nullptr : &found->second;
    }
};
template <class T>
struct TUniquePtr : std::unique_ptr<T> {
    using std::unique_ptr<T>::unique_ptr;
    template <class Other>
    TUniquePtr(std::unique_ptr<Other>&& other) : std::unique_ptr<T>(std::move(other)) {}
    bool IsValid() const { return this->get() != nullptr; }
    void Reset(T* object = nullptr) { this->reset(object); }
};
template <class T, class... Arguments>
TUniquePtr<T> MakeUnique(Arguments&&... arguments) {
    return std::make_unique<T>(std::forward<Arguments>(arguments)...);
}
enum class ESPMode { NotThreadSafe, ThreadSafe };
template <class T, ESPMode = ESPMode::ThreadSafe>
struct TSharedPtr : std::shared_ptr<T> {
    using std::shared_ptr<T>::shared_ptr;
    TSharedPtr(std::shared_ptr<T>&& other) : std::shared_ptr<T>(std::move(other)) {}
    bool IsValid() const { return this->get() != nullptr; }
    T* Get() const { return this->get(); }
};
template <class T, ESPMode mode>
TSharedPtr<T, mode> MakeShared() {
    return std::make_shared<T>();
}

using FCriticalSection = std::recursive_mutex;
class FScopeLock {
public:
    explicit FScopeLock(FCriticalSection* section) : held_(*section) {}

private:
    std::lock_guard<FCriticalSection> held_;
};
