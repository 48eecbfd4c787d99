// An anim instance that runs the loop of rigpact with NNE and records it with the plug-in RigpactTrace. To adapt: see README.md.
#pragma once

#include "Animation/AnimInstance.h"
#include "CoreMinimal.h"
#include "NNERuntimeCPU.h"

#include <memory>

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
