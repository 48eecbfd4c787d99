// Recording a character's loop in Unreal. A member of the anim instance or component; every function may be called in every
// build, and does nothing while `rigpact.Trace` is 0 and in shipping builds.
//
//     FRigpactTrace Trace;                                                       // a member
//     Trace.Configure(this, rigpact_contract::TraceHeaderOf("MyGame", "5.4", "free"));
//     Trace.BeginFrame(StepNumber, Seconds);                                     // in a step; then in any order:
//     Trace.Stage(rigpact::Stage::y_raw, YRaw);                                  // TArray, TArrayView, any array of a type below
//     Trace.EndFrame();
//
// Console: `rigpact.Trace 1` starts a file for each object, Saved/Rigpact/OBJECT-TIME-PROCESS-NUMBER.trace.bin; `rigpact.Trace 0` ends them.
#pragma once

#include "Containers/ArrayView.h"
#include "CoreMinimal.h"
#include "Templates/UniquePtr.h"

#include "rigpact/stages.hpp"
#include "rigpact/trace_header.hpp"

class UObject;
struct FRigpactTraceState;

// A stage of the enemy animation, or one of another graph by its name.
struct FRigpactStage
{
    FRigpactStage(rigpact::Stage Stage) : Name(rigpact::kStageNames[static_cast<int>(Stage)]) {}
    FRigpactStage(const char* InName) : Name(InName) {}
    const char* Name;
};

class RIGPACTTRACE_API FRigpactTrace
{
public:
    FRigpactTrace();
    ~FRigpactTrace();
    FRigpactTrace(const FRigpactTrace&) = delete;
    FRigpactTrace& operator=(const FRigpactTrace&) = delete;

    // Whose recording it is, and its header, whose strings must live as long as this (those of contract.hpp do).
    void Configure(const UObject* Owner, const rigpact::TraceHeader& Header);

    // The console variable is looked at here: files begin and end between two frames.
    void BeginFrame(int64 Frame, double TimeSeconds) const;
    void EndFrame() const;

    void Stage(FRigpactStage Which, TArrayView<const float> Values) const;
    void Stage(FRigpactStage Which, TArrayView<const double> Values) const;
    void Stage(FRigpactStage Which, TArrayView<const FQuat> Values) const;       // x y z w each
    void Stage(FRigpactStage Which, TArrayView<const FVector> Values) const;     // x y z each, in the engine's unit
    void Stage(FRigpactStage Which, TArrayView<const FTransform> Values) const;  // rotation x y z w, translation, scale each
    void Rotations(FRigpactStage Which, TArrayView<const FTransform> Values) const;  // of each only the rotation, x y z w

    // A whole frame of rigpact's own loop.
    template <class FAnyFrame>
    void Record(const FAnyFrame& Frame) const
    {
        BeginFrame(Frame.number, Frame.time_s);
        for (int Index = 0; Index < rigpact::kStages; ++Index)
        {
            if (Frame.values[Index] != nullptr)
            {
                Stage(static_cast<rigpact::Stage>(Index), TArrayView<const float>(Frame.values[Index], Frame.widths[Index]));
            }
        }
        EndFrame();
    }

    // Ends the file; the next frame begins another one while the console variable is on.
    void Stop() const;

private:
    TUniquePtr<FRigpactTraceState> State;
};
