// As much of NNE as the example uses.
#pragma once

#include "unreal_engine.h"

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
