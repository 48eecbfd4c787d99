// As much of NNE as the example uses.
#pragma once

#include "unreal_engine.h"

#include <cmath>

template <class T>
struct TWeakInterfacePtr {
    T* object = nullptr;
    bool IsValid() const { return object != nullptr; }
    T* operator->() const { return object; }
};
template <class T>
struct TObjectPtr {  // an asset that somebody set
    operator T*() const {
        static T own;
        return &own;
    }
};

class UNNEModelData;
namespace UE::NNE {
enum class EResultStatus { Ok, Fail };
struct FSymbolicTensorShape {  // -1: any
    TArray<int32> GetData() const {
        TArray<int32> any;
        any.Add(-1);
        return any;
    }
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
    TArray<FTensorDesc> GetInputTensorDescs() const {
        TArray<FTensorDesc> five;
        five.SetNum(5);
        return five;
    }
    EResultStatus SetInputTensorShapes(const TArray<FTensorShape>&) { return EResultStatus::Ok; }
    // A network of some kind: its answers depend on two of its inputs.
    EResultStatus RunSync(TArrayView<const FTensorBindingCPU> given, TArrayView<const FTensorBindingCPU> answers) {
        const float* const state = static_cast<const float*>(given.GetData()[0].Data);
        const float* const history = static_cast<const float*>(given.GetData()[4].Data);
        float* const answer = static_cast<float*>(answers.GetData()[0].Data);
        for (uint64 i = 0; i < answers.GetData()[0].SizeInBytes / sizeof(float); ++i) answer[i] = 0.2f * std::sin(state[i] + history[i]);
        return EResultStatus::Ok;
    }
};
struct IModelCPU {
    TSharedPtr<IModelInstanceCPU> CreateModelInstanceCPU() { return std::make_shared<IModelInstanceCPU>(); }
};
template <class Runtime>
TWeakInterfacePtr<Runtime> GetRuntime(const TCHAR*) {  // the plug-in NNERuntimeORT is enabled
    static Runtime own;
    return {&own};
}
}  // namespace UE::NNE
class UNNEModelData {};
struct INNERuntimeCPU {
    TSharedPtr<UE::NNE::IModelCPU> CreateModelCPU(UNNEModelData*) { return std::make_shared<UE::NNE::IModelCPU>(); }
};
