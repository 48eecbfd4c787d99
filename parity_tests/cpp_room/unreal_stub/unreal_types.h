// As much of Unreal as the plug-in and the example use, so that a compiler reads them here. Every header that they name is an
// empty one beside this file which includes it. Semantics are Unreal's where a test looks at them, and nothing where none does.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cwchar>
#include <map>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include <sys/stat.h>
#include <unistd.h>

using int32 = std::int32_t;
using uint32 = std::uint32_t;
using int64 = std::int64_t;
using uint64 = std::uint64_t;
using uint8 = std::uint8_t;
using TCHAR = wchar_t;
#define TEXT(text) L##text
#define RIGPACTTRACE_API

class FString {
public:
    FString() = default;
    FString(const TCHAR* text) : text_(text) {}
    const TCHAR* operator*() const { return text_.c_str(); }
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
}
}  // namespace unreal_stub

#define UTF8_TO_TCHAR(text) unreal_stub::wide(text).c_str()
#define TCHAR_TO_UTF8(text) unreal_stub::narrow(text).c_str()
#define DEFINE_LOG_CATEGORY_STATIC(name, level, compiled) struct name##Category {}
#define UE_LOG(category, verbosity, ...) unreal_stub::log(__VA_ARGS__)
#define IMPLEMENT_MODULE(implementation, name)

template <class T>
class TArray {
public:
    T* GetData() { return items_.data(); }
    const T* GetData() const { return items_.data(); }
    int32 Num() const { return static_cast<int32>(items_.size()); }
    void Add(const T& item) { items_.push_back(item); }
    T& Last() { return items_.back(); }
    const T& Last() const { return items_.back(); }
    T& operator[](int32 at) { return items_[static_cast<std::size_t>(at)]; }
    const T& operator[](int32 at) const { return items_[static_cast<std::size_t>(at)]; }

private:
    std::vector<T> items_;
};

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

struct FVector {
    double X = 0, Y = 0, Z = 0;
    FVector operator*(double by) const { return {X * by, Y * by, Z * by}; }
    static const FVector ZeroVector;
};
inline const FVector FVector::ZeroVector = {};

struct FQuat {
    FQuat(double x, double y, double z, double w) : X(x), Y(y), Z(z), W(w) {}
    double X, Y, Z, W;
};

class FTransform {
public:
    FTransform(const FQuat& rotation, const FVector& translation = {}, const FVector& scale = {1, 1, 1})
        : rotation_(rotation), translation_(translation), scale_(scale) {}
    const FQuat& GetRotation() const { return rotation_; }
    const FVector& GetTranslation() const { return translation_; }
    const FVector& GetScale3D() const { return scale_; }

private:
    FQuat rotation_;
    FVector translation_, scale_;
};

class UObject {
public:
    explicit UObject(const TCHAR* name = L"Object") : name_(name) {}
    virtual ~UObject() = default;
    FString GetName() const { return name_; }

private:
    FString name_;
};

template <class T>
using TUniquePtr = std::unique_ptr<T>;
template <class T>
TUniquePtr<T> MakeUnique() {
    return std::make_unique<T>();
}

namespace unreal_stub {
inline std::map<std::wstring, int32*> variables;
}
enum EConsoleVariableFlags { ECVF_Default };
template <class T>
class TAutoConsoleVariable {
public:
    TAutoConsoleVariable(const TCHAR* name, T value, const TCHAR*, EConsoleVariableFlags = ECVF_Default) : value_(value) {
        unreal_stub::variables[name] = &value_;
    }
    T GetValueOnAnyThread() const { return value_; }

private:
    T value_;
};

struct FPaths {
    static FString ProjectSavedDir() { return unreal_stub::wide(std::getenv("UNREAL_STUB_SAVED")).c_str(); }
    static FString ProjectContentDir() { return L"Content"; }
    static FString ConvertRelativePathToFull(const FString& path) { return path; }
    static FString MakeValidFileName(const FString& name) {
        std::wstring valid(*name);
        for (wchar_t& c : valid) c = c == L'/' || c == L':' ? L'_' : c;
        return valid.c_str();
    }
};

struct IFileManager {
    static IFileManager& Get() {
        static IFileManager own;
        return own;
    }
    bool MakeDirectory(const TCHAR* path, bool) { return ::mkdir(unreal_stub::narrow(path).c_str(), 0777) == 0; }
};

struct FPlatformProcess {
    static uint32 GetCurrentProcessId() { return static_cast<uint32>(::getpid()); }
};

struct FDateTime {
    static FDateTime Now() { return {}; }
    FString ToString() const { return L"2026.01.02-03.04.05"; }
};
