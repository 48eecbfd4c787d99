// Console, files, objects, worlds and play sessions, as much as the plug-in and the example use.
#pragma once

#include "unreal_types.h"

#include <cstring>
#include <set>
#include <thread>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define UCLASS(...)
#define UPROPERTY(...)
#define GENERATED_BODY()
#define IMPLEMENT_MODULE(implementation, name)
#define IMPLEMENT_PRIMARY_GAME_MODULE(implementation, name, game) \
    static const bool started = (unreal_stub::modules.push_back(std::make_unique<implementation>()), true)
struct FDefaultModuleImpl {
    virtual ~FDefaultModuleImpl() = default;
    virtual void StartupModule() {}
};
using FDefaultGameModuleImpl = FDefaultModuleImpl;
namespace unreal_stub {
inline std::vector<std::unique_ptr<FDefaultModuleImpl>> modules;
}

namespace unreal_stub {
inline const std::thread::id game_thread = std::this_thread::get_id();
inline void on_game_thread() {  // what Unreal answers with a check(IsInGameThread())
    if (std::this_thread::get_id() != game_thread) std::abort();
}
inline bool is_commandlet = false;
}  // namespace unreal_stub
inline bool IsRunningCommandlet() { return unreal_stub::is_commandlet; }

// --- console ---
enum EConsoleVariableFlags { ECVF_Default, ECVF_SetByCode };
class IConsoleVariable {
public:
    virtual ~IConsoleVariable() = default;
    virtual void Set(int32, EConsoleVariableFlags) {}
    virtual void Set(const TCHAR*, EConsoleVariableFlags) {}
};
struct FConsoleCommandDelegate {
    void (*call)();
    static FConsoleCommandDelegate CreateStatic(void (*function)()) { return {function}; }
};
class IConsoleManager {
public:
    static IConsoleManager& Get() {
        static IConsoleManager own;
        return own;
    }
    IConsoleVariable* FindConsoleVariable(const TCHAR* name) { return variables.count(name) != 0 ? variables[name] : nullptr; }
    void CallAllConsoleVariableSinks() {  // Unreal: once a frame, where a variable changed
        unreal_stub::on_game_thread();
        for (const FConsoleCommandDelegate& sink : sinks) sink.call();
    }
    std::map<std::wstring, IConsoleVariable*> variables;
    std::vector<FConsoleCommandDelegate> sinks;
};
struct FAutoConsoleVariableSink {
    explicit FAutoConsoleVariableSink(const FConsoleCommandDelegate& sink) { IConsoleManager::Get().sinks.push_back(sink); }
};
template <class T>
class TAutoConsoleVariable : public IConsoleVariable {
public:
    TAutoConsoleVariable(const TCHAR* name, T value, const TCHAR*, EConsoleVariableFlags = ECVF_Default) : value_(value) {
        IConsoleManager::Get().variables[name] = this;
    }
    void Set(int32 value, EConsoleVariableFlags) override { set(value); }
    void Set(const TCHAR* value, EConsoleVariableFlags) override { set(value); }
    T GetValueOnAnyThread() const {
        static_assert(!std::is_same_v<T, FString>, "text is not safe to read on any thread");
        const std::lock_guard<std::mutex> held(mutex_);
        return value_;
    }
    T GetValueOnGameThread() const {
        unreal_stub::on_game_thread();
        return value_;
    }

private:
    template <class Given>
    void set(Given value) {
        unreal_stub::on_game_thread();
        const std::lock_guard<std::mutex> held(mutex_);
        if constexpr (std::is_constructible_v<T, Given>) value_ = T(value);
    }
    mutable std::mutex mutex_;
    T value_;
};

// --- files ---
struct FPaths {
    static FString ProjectSavedDir() { return unreal_stub::wide(std::getenv("UNREAL_STUB_SAVED")).c_str(); }
    static FString ProjectContentDir() {
        const char* folder = std::getenv("UNREAL_STUB_CONTENT");
        return folder == nullptr ? FString(L"Content") : FString(unreal_stub::wide(folder).c_str());
    }
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
class IFileHandle {
public:
    explicit IFileHandle(int file) : file_(file) {}
    ~IFileHandle() { ::close(file_); }
    bool Write(const uint8* data, int64 size) { return ::write(file_, data, static_cast<std::size_t>(size)) == size; }

private:
    int file_;
};
struct IPlatformFile {
    IFileHandle* OpenWrite(const TCHAR* path, bool = false, bool = false) {
        const int file = ::open(unreal_stub::narrow(path).c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
        return file < 0 ? nullptr : new IFileHandle(file);
    }
};
struct FPlatformFileManager {
    static FPlatformFileManager& Get() {
        static FPlatformFileManager own;
        return own;
    }
    IPlatformFile& GetPlatformFile() { return platform_; }

private:
    IPlatformFile platform_;
};
struct FFileHelper {
    static bool LoadFileToArray(TArray<uint8>& bytes, const TCHAR* path) {
        std::FILE* const file = std::fopen(unreal_stub::narrow(path).c_str(), "rb");
        if (file == nullptr) return false;
        for (int byte = std::fgetc(file); byte != EOF; byte = std::fgetc(file)) bytes.Add(static_cast<uint8>(byte));
        return std::fclose(file) == 0;
    }
    static bool LoadFileToStringArray(TArray<FString>& lines, const TCHAR* path) {
        TArray<uint8> bytes;
        if (!LoadFileToArray(bytes, path)) return false;
        FString(unreal_stub::wide(std::string(bytes.begin(), bytes.end())).c_str()).ParseIntoArray(lines, L"\n");
        return true;
    }
};
struct FPlatformProcess {
    static uint32 GetCurrentProcessId() { return static_cast<uint32>(::getpid()); }
};
struct FDateTime {
    static FDateTime Now() { return {}; }
    FString ToString() const { return L"2026.01.02-03.04.05"; }
};
struct FParse {  // Unreal's -key=value and -key
    static bool Value(const TCHAR* stream, const TCHAR* key, FString& value) {
        const TCHAR* const found = std::wcsstr(stream, key);
        if (found == nullptr) return false;
        const std::wstring rest(found + std::wcslen(key));
        value = FString(rest.substr(0, rest.find(L' ')).c_str());
        return true;
    }
    static bool Value(const TCHAR* stream, const TCHAR* key, int32& value) {
        FString text;
        if (!Value(stream, key, text)) return false;
        value = static_cast<int32>(std::wcstol(*text, nullptr, 10));
        return true;
    }
    static bool Param(const TCHAR* stream, const TCHAR* key) { return std::wcsstr(stream, key) != nullptr; }
};

// --- objects ---
class FName {
public:
    explicit FName(const char* name) : text_(unreal_stub::wide(name)) {}
    explicit FName(const TCHAR* name) : text_(name) {}
    bool operator==(const FName& that) const { return text_ == that.text_; }

private:
    std::wstring text_;
};
class UWorld;
class UPackage;
class UClass {
public:
    explicit UClass(const FString& name) : name_(name) {}
    FString GetName() const { return name_; }
    FString GetPathName() const { return FString(L"/Game/") + name_; }

private:
    FString name_;
};
class UObject {
public:
    explicit UObject(const TCHAR* name = L"Object", UObject* outer = nullptr, const TCHAR* of_class = L"Object")
        : name_(name), class_(of_class), outer_(outer), alive_(std::make_shared<int>(0)) {}
    virtual ~UObject() = default;
    FString GetName() const { return name_; }
    FString GetPathName() const { return FString(L"/Game/") + name_; }
    const UClass* GetClass() const { return &class_; }
    UObject* GetOuter() const { return outer_; }
    template <class T>
    T* GetTypedOuter() const {
        unreal_stub::on_game_thread();
        for (UObject* each = outer_; each != nullptr; each = each->outer_) {
            if (each->is(T::kKind)) return static_cast<T*>(each);
        }
        return nullptr;
    }
    virtual UWorld* GetWorld() const { return outer_ == nullptr ? nullptr : outer_->GetWorld(); }
    const std::shared_ptr<int>& alive() const { return alive_; }
    virtual bool is(const char*) const { return false; }

private:
    FString name_;
    UClass class_;
    UObject* outer_;
    std::shared_ptr<int> alive_;
};
template <class T>
const T* Cast(const UObject* object) {
    return object != nullptr && object->is(T::kKind) ? static_cast<const T*>(object) : nullptr;
}
template <class T>
class TWeakObjectPtr {
public:
    TWeakObjectPtr(T* object = nullptr) : object_(object) {
        if (object != nullptr) alive_ = object->alive();
    }
    T* Get() const {
        unreal_stub::on_game_thread();
        return alive_.expired() ? nullptr : object_;
    }

private:
    T* object_;
    std::weak_ptr<int> alive_;
};

// --- worlds ---
class UPackage {
public:
    int32 GetPIEInstanceID() const { return pie; }
    int32 pie = -1;
};
namespace EWorldType {
enum Type { None, Game, Editor, PIE, EditorPreview, GamePreview };
}
enum ENetMode { NM_Standalone, NM_DedicatedServer, NM_ListenServer, NM_Client };
class APlayerController {
public:
    void GetPlayerViewPoint(FVector& from, FRotator&) const { from = view; }
    FVector view;
};
class UWorld : public UObject {
public:
    UWorld(const TCHAR* name, EWorldType::Type type, int32 pie, ENetMode net) : UObject(name), WorldType(type), net_(net) { package_.pie = pie; }
    UWorld* GetWorld() const override { return const_cast<UWorld*>(this); }
    FString GetMapName() const { return GetName(); }
    UPackage* GetOutermost() const { return const_cast<UPackage*>(&package_); }
    ENetMode GetNetMode() const { return net_; }
    APlayerController* GetFirstPlayerController() const { return player; }
    EWorldType::Type WorldType;
    APlayerController* player = nullptr;

private:
    UPackage package_;
    ENetMode net_;
};
class AActor : public UObject {
public:
    static constexpr char kKind[] = "actor";
    using UObject::UObject;
    bool is(const char* kind) const override { return std::strcmp(kind, kKind) == 0; }
    FVector GetActorLocation() const { return location; }
    FVector GetVelocity() const { return {}; }
    TArray<FName> Tags;
    FVector location;
};
using APawn = AActor;
struct USkeletalMesh : UObject {
    using UObject::UObject;
};
class USkeletalMeshComponent : public UObject {
public:
    static constexpr char kKind[] = "mesh";
    using UObject::UObject;
    bool is(const char* kind) const override { return std::strcmp(kind, kKind) == 0; }
    USkeletalMesh* GetSkeletalMeshAsset() const { return mesh; }
    USkeletalMesh* mesh = nullptr;
};
class UAnimInstance : public UObject {
public:
    using UObject::UObject;
    using Super = UAnimInstance;
    virtual void NativeInitializeAnimation() {}
    virtual void NativeUpdateAnimation(float) {}
    virtual void NativeThreadSafeUpdateAnimation(float) {}
    virtual void NativePostEvaluateAnimation() {}
    virtual void NativeUninitializeAnimation() {}
    APawn* TryGetPawnOwner() const { return GetTypedOuter<APawn>(); }
};
class UCommandlet : public UObject {
public:
    using UObject::UObject;
    virtual int32 Main(const FString& Params) = 0;
};
template <class T>
T* NewObject(UObject* outer) {
    return new T(L"New", outer);
}
inline UObject* GetTransientPackage() {
    static UObject own(L"Transient");
    return &own;
}
template <class T>
struct TStrongObjectPtr : TUniquePtr<T> {
    T* Get() const { return this->get(); }
};
