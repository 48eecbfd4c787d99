// Recording a character's loop in Unreal. A member of the anim instance, the component or the anim node; every function may be
// called in every build, and is empty in a shipping build.
//
//     FRigpactTrace Trace;                                                       // a member
//     Trace.Configure(this, rigpact_contract::TraceHeaderOf("MyGame", "5.4", "free"));      // NativeInitializeAnimation
//     Trace.BeginFrame(StepNumber, Seconds);                                     // in a step; then in any order:
//     Trace.Stage(rigpact::Stage::y_raw, YRaw);                                  // TArray, TArrayView, C array, {L, R}, one element
//     Trace.EndFrame();
//
// Who may call what. Configure() on the game thread, the first time before another thread sees this object. Everything else on any
// thread at any time; BeginFrame, Stage and EndFrame of a frame come one after the other, on whichever threads:
//   NativeUpdateAnimation (game thread), NativeThreadSafeUpdateAnimation and a proxy's Update and Evaluate (a worker),
//   NativePostEvaluateAnimation (game thread). Call EndFrame() in the last of them that has a stage: a stage after it is not recorded,
//   and counted as stray. A file that ends in the middle of a frame (Stop, rigpact.Trace 0) leaves that frame out.
//
// A handle: copies are the same recording, and an anim node may hold one. A copy that was made before Configure() is its own.
//
// Console: `rigpact.Trace 1` starts a file for each chosen character in Saved/Rigpact (2: text), `rigpact.Trace 0` ends them.
// `rigpact.Trace.Class`, `.Actor`, `.Tag`, `.Nearest`, `.Max`, `.Previews` choose, `rigpact.Trace.Queue` says who writes: see their help.
#pragma once

#include "CoreMinimal.h"
#include "Templates/SharedPointer.h"

#include "RigpactElements.h"
#include "rigpact/trace.hpp"

class UObject;
struct FRigpactTraceState;

// A stage of the enemy animation, or one of another graph by its name.
struct FRigpactStage
{
    FRigpactStage(rigpact::Stage Stage) : Name(rigpact::kStageNames[static_cast<int>(Stage)]) {}
    FRigpactStage(const char* InName) : Name(InName) {}
    const char* Name;
};

class FRigpactTrace
{
public:
#if RIGPACT_TRACE
    // Whose recording it is, and its header, whose strings must live as long as this (those of contract.hpp do). A running
    // recording ends, and the next frame begins another file.
    RIGPACTTRACE_API void Configure(const UObject* Owner, const rigpact::TraceHeader& Header);

    // Files begin and end here, between two frames. A frame with the number 0 after others begins a new segment of the file (a
    // respawn, a pool), and so does another mode than before: "teacher", "free", "playback"; null leaves it as it is.
    RIGPACTTRACE_API void BeginFrame(int64 Frame, double TimeSeconds, const char* Mode = nullptr) const;
    RIGPACTTRACE_API void EndFrame() const;

    // Ends the file; the next frame begins another one while the console variable is on.
    RIGPACTTRACE_API void Stop() const;

    // For rigpact_contract::SelfTestEngine(Files, Trace, Step): the stages go to the self-test.
    RIGPACTTRACE_API void listen(rigpact::StageListener* Listener) const;
    static constexpr bool kRecords = true;
#else
    void Configure(const UObject*, const rigpact::TraceHeader&) {}
    void BeginFrame(int64, double, const char* = nullptr) const {}
    void EndFrame() const {}
    void Stop() const {}
    void listen(rigpact::StageListener*) const {}
    static constexpr bool kRecords = false;
#endif

    // Numbers, bool, FVector, FVector2D, FQuat, FRotator, FMatrix, FTransform and their float variants (RigpactElements.h).
    template <class Element = void, class T>
    const FRigpactTrace& Stage(FRigpactStage Which, const T* Values, int32 Count) const
    {
        if (const rigpact::Recorder* Recorder = GetRecorder()) Recorder->stage<Element>(Which.Name, Values, Count);
        return *this;
    }
    template <class Element = void, class T, std::size_t Count>
    const FRigpactTrace& Stage(FRigpactStage Which, const T (&Values)[Count]) const
    {
        return Stage<Element>(Which, &Values[0], static_cast<int32>(Count));
    }
    template <class Element = void, class T>
    const FRigpactTrace& Stage(FRigpactStage Which, const T& Values) const
    {
        if (const rigpact::Recorder* Recorder = GetRecorder()) Recorder->stage<Element>(Which.Name, Values);
        return *this;
    }
    // Of transforms only the rotations, x y z w.
    template <class T>
    const FRigpactTrace& Rotations(FRigpactStage Which, const T& Transforms) const
    {
        return Stage<RigpactTrace::FRotationOf>(Which, Transforms);
    }

    // In a self-test what comes from player, clip and network: true, and the row is filled. False in a game.
    template <class T>
    bool Given(FRigpactStage Which, T& Row) const
    {
        const rigpact::Recorder* Recorder = GetRecorder();
        return Recorder != nullptr && Recorder->given(Which.Name, Row);
    }

    // A whole frame of rigpact's own loop.
    template <class FAnyFrame>
    void Record(const FAnyFrame& Frame, const char* Mode = nullptr) const
    {
        BeginFrame(Frame.number, Frame.time_s, Mode);
        for (int Index = 0; Index < rigpact::kStages; ++Index)
        {
            if (Frame.values[Index] != nullptr) Stage(static_cast<rigpact::Stage>(Index), Frame.values[Index], Frame.widths[Index]);
        }
        EndFrame();
    }

private:
#if RIGPACT_TRACE
    RIGPACTTRACE_API const rigpact::Recorder* GetRecorder() const;
    TSharedPtr<FRigpactTraceState, ESPMode::ThreadSafe> State;
#else
    static const rigpact::Recorder* GetRecorder() { return nullptr; }
#endif
};

namespace RigpactTrace
{
struct FCounts
{
    int64 Written = 0;
    int64 Other = 0;  // dropped, refused, lost, stray
};

// Of the recordings that ended since the last call. For a build machine, which fails where nothing or not all was recorded.
RIGPACTTRACE_API FCounts TakeCounts();

// What the commandlet plays (`-run=Rigpact`): made for a clip, stepped until it has no more frames, deleted.
class IRun
{
public:
    virtual ~IRun() = default;
    virtual bool Step() = 0;  // a frame; false where the clip is over
};
using FMakeRun = TFunction<TUniquePtr<IRun>(const FString& Clip)>;  // null where the clip cannot be played

// By the game's module, at its start: what `-character=NAME` plays.
RIGPACTTRACE_API void RegisterRun(const FString& Name, FMakeRun Make);
RIGPACTTRACE_API TUniquePtr<IRun> MakeRun(const FString& Name, const FString& Clip);
}  // namespace RigpactTrace
