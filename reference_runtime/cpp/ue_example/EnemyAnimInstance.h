// An anim instance that runs the loop of rigpact with NNE. Text to adapt, not built here: see README.md beside it.
#pragma once

#include "Animation/AnimInstance.h"
#include "CoreMinimal.h"
#include "NNERuntimeCPU.h"

#include <memory>

// RIGPACT_TRACE is set in the module's Build.cs: 1 in development builds, 0 in shipping ones.
#include "contract.hpp"  // written by `rigpact codegen`
#include "rigpact/trace.hpp"

#include "EnemyAnimInstance.generated.h"

UCLASS()
class UEnemyAnimInstance : public UAnimInstance
{
    GENERATED_BODY()

public:
    virtual void NativeInitializeAnimation() override;
    virtual void NativeUpdateAnimation(float DeltaSeconds) override;
    virtual void NativeUninitializeAnimation() override;

    UPROPERTY(EditAnywhere, Category = "Motion")
    TObjectPtr<class UNNEModelData> ModelData;

private:
    bool LoadAndCheckBundle();
    bool BindModel();
    void StepModel();
    void Publish();

    // double: UE 5 with large world coordinates. float: UE 4.
    std::unique_ptr<rigpact::Loop<double>> Loop;
    rigpact::Recorder Recorder;
    TSharedPtr<UE::NNE::IModelInstanceCPU> Model;
    rigpact::FootContact LeftFoot, RightFoot;
    float SeedState[rigpact_contract::kStateWidth] = {};
    double Accumulated = 0.0;
};
