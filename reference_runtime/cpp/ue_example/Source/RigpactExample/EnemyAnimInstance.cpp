// Where each hook goes. Engine calls are those of UE 5.4; what is your game's own is marked YOURS.
#include "EnemyAnimInstance.h"

#include "Misc/FileHelper.h"
#include "Misc/Paths.h"
#include "NNE.h"
#include "NNEModelData.h"

// 1. The sizes that this file was written for. A bundle with other ones does not compile.
static_assert(rigpact_contract::widths_are(46, 422, 276, 3), "the bundle changed: look what moved, then change this line");

// 2. Start-up: refuse a stale bundle before anything is rendered.
bool UEnemyAnimInstance::LoadAndCheckBundle()
{
    TArray<uint8> Bundle, Companion;
    const FString Folder = FPaths::ProjectContentDir() / TEXT("Motion");
    if (!FFileHelper::LoadFileToArray(Bundle, *(Folder / TEXT("norm_template.json")))
        || !FFileHelper::LoadFileToArray(Companion, *(Folder / TEXT("pretrain_template.json"))))
    {
        UE_LOG(LogTemp, Error, TEXT("rigpact: no bundle in %s"), *Folder);
        return false;
    }
    // An engine that parses the bundle itself passes an EngineSide with its own arrays instead: then moved slices, other
    // scales and swapped bones are named one by one.
    const rigpact::SelfTestResult Test = rigpact_contract::SelfTest(
        Bundle.GetData(), static_cast<std::size_t>(Bundle.Num()), Companion.GetData(), static_cast<std::size_t>(Companion.Num()));
    if (!Test.ok())
    {
        UE_LOG(LogTemp, Error, TEXT("rigpact: %hs[%d] is %g, agreed %g; the character stays in its reference pose"),
               Test.what, Test.index, Test.found, Test.expected);
    }
    return Test.ok();
}

// 3. The model, bound by position. A wrong width is refused here, which AlignInputVec would hide.
bool UEnemyAnimInstance::BindModel()
{
    const TWeakInterfacePtr<INNERuntimeCPU> Runtime = UE::NNE::GetRuntime<INNERuntimeCPU>(TEXT("NNERuntimeORTCpu"));
    const TSharedPtr<UE::NNE::IModelCPU> Created = Runtime.IsValid() && ModelData ? Runtime->CreateModelCPU(ModelData) : nullptr;
    Model = Created.IsValid() ? Created->CreateModelInstanceCPU() : nullptr;
    if (!Model.IsValid() || Model->GetInputTensorDescs().Num() != 5)
    {
        return false;
    }
    namespace Layout = rigpact_contract::layout;
    // in the order of networks::motion in contract.hpp
    const int Widths[5] = {Layout::state::kWidth, Layout::cond::kWidth, Layout::contacts::kWidth, Layout::angvel::kWidth, Layout::pose_hist::kWidth};
    TArray<UE::NNE::FTensorShape> Shapes;
    for (int Position = 0; Position < 5; ++Position)
    {
        const int32 Declared = Model->GetInputTensorDescs()[Position].GetShape().GetData().Last();
        if (Declared > 0 && Declared != Widths[Position])
        {
            UE_LOG(LogTemp, Error, TEXT("rigpact: input %d of the model is %d wide, agreed %d"), Position, Declared, Widths[Position]);
            return false;
        }
        Shapes.Add(UE::NNE::FTensorShape::Make({1u, static_cast<uint32>(Widths[Position])}));
    }
    return Model->SetInputTensorShapes(Shapes) == UE::NNE::EResultStatus::Ok;
}

void UEnemyAnimInstance::NativeInitializeAnimation()
{
    Super::NativeInitializeAnimation();
    Loop = std::make_unique<rigpact_contract::State>();
    if (!LoadAndCheckBundle() || !BindModel())
    {
        Loop.reset();
        return;
    }
    // YOURS: fill SeedState from the startup clip's frame or the reference pose (metres, radians, bones in kBoneNames order).
    if (Played != nullptr && !Played->Get(TEXT("x_raw"), 0, SeedState))
    {
        Loop.reset();
        return;
    }
    rigpact::copy(SeedState, Loop->x_raw);  // ResetARState; another run begins with another State

    // 4. Recording, three lines in all: the member in the header, this one, and Record() below. `rigpact.Trace 1` on the console
    // starts it, and the file is in Saved/Rigpact. Nothing in a shipping build.
    Trace.Configure(this, rigpact_contract::TraceHeaderOf("MyGame", "5.4", "free"));
}

void UEnemyAnimInstance::NativeUpdateAnimation(float DeltaSeconds)
{
    Super::NativeUpdateAnimation(DeltaSeconds);
    if (!Loop)
    {
        return;
    }
    // 5. Fixed step: at most one model step per rendered frame, accumulated time capped at two.
    const double Step = 1.0 / rigpact_contract::kFps;
    Accumulated = FMath::Min(Accumulated + DeltaSeconds, 2.0 * Step);
    if (Accumulated >= Step)
    {
        Accumulated -= Step;
        StepModel();
    }
    Publish();
}

void UEnemyAnimInstance::StepModel()
{
    // 6. What the player wants: BuildCondVector. Engine velocity is cm/s, the contract's is m/s.
    const FVector Velocity = TryGetPawnOwner() ? TryGetPawnOwner()->GetVelocity() * 0.01 : FVector::ZeroVector;
    rigpact::Wish Wish = {{0, 1, 0, 0}, {float(Velocity.X), float(Velocity.Y)}, {float(Velocity.X), float(Velocity.Y)}};
    namespace Chosen = rigpact_contract::conventions;
    rigpact::build_condition<double>(Chosen::kConditionDirection, Chosen::kConditionSpeedUnit, Wish, Loop->cond_raw);

    // 7. Feet. YOURS: FootSample from your floor trace (distance, vertical and planar speed, reachable).
    Loop->contacts[0] = LeftFoot.touching ? 1.0f : 0.0f;
    Loop->contacts[1] = RightFoot.touching ? 1.0f : 0.0f;

    // A build machine's clip in place of player and floor.
    if (Played != nullptr)
    {
        Played->Get(TEXT("cond_raw"), StepNumber(), Loop->cond_raw);
        Played->Get(TEXT("contacts"), StepNumber(), Loop->contacts);
    }

    // 8. The network, called back by the loop; its five inputs in binding order.
    step(*Loop, [this](rigpact_contract::networks::motion, rigpact_contract::State& State)
    {
        const auto Bound = [](auto& Row) { return UE::NNE::FTensorBindingCPU{Row, sizeof(Row)}; };
        UE::NNE::FTensorBindingCPU Bindings[5] = {Bound(State.state), Bound(State.cond), Bound(State.contacts), Bound(State.angvel), Bound(State.pose_hist)};
        UE::NNE::FTensorBindingCPU Output[1] = {Bound(State.y_norm)};
        if (Model->RunSync(Bindings, Output) != UE::NNE::EResultStatus::Ok)
        {
            UE_LOG(LogTemp, Error, TEXT("rigpact: the model did not run; its last answer stands"));
        }
    });
    Trace.Record(FrameOf(*Loop));
}

// 9. The mailbox. Unit quaternions xyzw, local, in kBoneNames order; change of basis, if any, belongs here.
void UEnemyAnimInstance::Publish()
{
    if (Loop->frame_ < 0)
    {
        return;  // before the first step
    }
    for (int Bone = 0; Bone < rigpact_contract::kBones; ++Bone)
    {
        const float* Q = Loop->quat + 4 * Bone;
        const FQuat Local(Q[0], Q[1], Q[2], Q[3]);
        // YOURS: FPoseMailbox::Write(FName(rigpact_contract::kBoneNames[Bone]), FTransform(Local));
        (void)Local;
    }
}

void UEnemyAnimInstance::NativeUninitializeAnimation()
{
    Trace.Stop();
    Super::NativeUninitializeAnimation();
}
