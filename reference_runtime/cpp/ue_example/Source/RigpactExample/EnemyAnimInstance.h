// An anim instance that runs the loop of rigpact with NNE and records it with the plug-in RigpactTrace. To adapt: see README.md.
#pragma once

#include "Animation/AnimInstance.h"
#include "CoreMinimal.h"
#include "NNERuntimeCPU.h"

#include <memory>

#include "PlayedClip.h"
#include "RigpactTrace.h"  // the plug-in
#include "contract.hpp"    // written by `rigpact codegen --loop`

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

    // On a build machine: what the player does and where the run starts.
    const FPlayedClip* Played = nullptr;

    bool IsReady() const { return Loop != nullptr; }
    int32 StepNumber() const { return static_cast<int32>(Loop->frame_) + 1; }

private:
    bool LoadAndCheckBundle();
    bool BindModel();
    void StepModel();
    void Publish();

    // The character, with every vector of its loop; null where the bundle or the model was refused.
    std::unique_ptr<rigpact_contract::State> Loop;
    FRigpactTrace Trace;
    TSharedPtr<UE::NNE::IModelInstanceCPU> Model;
    rigpact::FootContact LeftFoot, RightFoot;
    float SeedState[rigpact_contract::kStateWidth] = {};
    double Accumulated = 0.0;
};
