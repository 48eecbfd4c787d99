// As much of NNE and of the animation system as the example uses.
#pragma once

#include "unreal_types.h"

#define UCLASS()
#define UPROPERTY(...)
#define GENERATED_BODY() using Super = UAnimInstance;

template <class T>
struct TSharedPtr : std::shared_ptr<T> {
    using std::shared_ptr<T>::shared_ptr;
    bool IsValid() const { return this->get() != nullptr; }
};
template <class T>
struct TWeakInterfacePtr {
    T* object = nullptr;
    bool IsValid() const { return object != nullptr; }
    T* operator->() const { return object; }
};
template <class T>
struct TObjectPtr {
    T* object = nullptr;
    operator T*() const { return object; }
};

struct FMath {
    static double Min(double a, double b) { return a < b ? a : b; }
};
struct FName {
    explicit FName(const char*) {}
};
struct FFileHelper {
    static bool LoadFileToArray(TArray<uint8>&, const TCHAR*) { return false; }
};

class UNNEModelData;
namespace UE::NNE {
enum class EResultStatus { Ok, Fail };
struct FSymbolicTensorShape {
    TArray<int32> GetData() const { return {}; }
};
struct FTensorDesc {
    FSymbolicTensorShape GetShape() const { return {}; }
};
struct FTensorShape {
    static FTensorShape Make(std::initializer_list<uint32>) { return {}; }
};
struct FTensorBindingCPU {
    void* Data;
    uint64 SizeInBytes;
};
struct IModelInstanceCPU {
    TArray<FTensorDesc> GetInputTensorDescs() const { return {}; }
    EResultStatus SetInputTensorShapes(const TArray<FTensorShape>&) { return EResultStatus::Ok; }
    EResultStatus RunSync(TArrayView<const FTensorBindingCPU>, TArrayView<const FTensorBindingCPU>) { return EResultStatus::Ok; }
};
struct IModelCPU {
    TSharedPtr<IModelInstanceCPU> CreateModelInstanceCPU() { return {}; }
};
template <class Runtime>
TWeakInterfacePtr<Runtime> GetRuntime(const TCHAR*) {
    return {};
}
}  // namespace UE::NNE
struct INNERuntimeCPU {
    TSharedPtr<UE::NNE::IModelCPU> CreateModelCPU(UNNEModelData*) { return {}; }
};

struct APawn {
    FVector GetVelocity() const { return {}; }
};
class UAnimInstance : public UObject {
public:
    virtual void NativeInitializeAnimation() {}
    virtual void NativeUpdateAnimation(float) {}
    virtual void NativeUninitializeAnimation() {}
    APawn* TryGetPawnOwner() const { return nullptr; }
};
