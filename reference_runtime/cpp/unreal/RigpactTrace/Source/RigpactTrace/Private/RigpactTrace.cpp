#include "RigpactTrace.h"

#include "HAL/FileManager.h"
#include "HAL/IConsoleManager.h"
#include "HAL/PlatformProcess.h"
#include "Misc/DateTime.h"
#include "Misc/Paths.h"
#include "Modules/ModuleManager.h"
#include "UObject/Object.h"

#include "rigpact/trace.hpp"

#include <atomic>

DEFINE_LOG_CATEGORY_STATIC(LogRigpactTrace, Log, All);

static TAutoConsoleVariable<int32> CVarRigpactTrace(
    TEXT("rigpact.Trace"), 0,
    TEXT("1: every character with an FRigpactTrace records into Saved/Rigpact (.trace.bin). 2: as text (.trace.jsonl). 0: off."));
static TAutoConsoleVariable<int32> CVarRigpactTraceQueue(
    TEXT("rigpact.Trace.Queue"), 0,
    TEXT("0: a frame is written before EndFrame returns, so a crash loses none. n: a thread writes, and a full queue drops frames."));

// --- how the engine's types become numbers ---
template <>
struct rigpact::StageElement<FQuat>
{
    using Number = float;
    static constexpr int kNumbers = 4;
    static void put(const FQuat& Quat, float* Out)
    {
        Out[0] = static_cast<float>(Quat.X);
        Out[1] = static_cast<float>(Quat.Y);
        Out[2] = static_cast<float>(Quat.Z);
        Out[3] = static_cast<float>(Quat.W);
    }
};

template <>
struct rigpact::StageElement<FVector>
{
    using Number = float;
    static constexpr int kNumbers = 3;
    static void put(const FVector& Vector, float* Out)
    {
        Out[0] = static_cast<float>(Vector.X);
        Out[1] = static_cast<float>(Vector.Y);
        Out[2] = static_cast<float>(Vector.Z);
    }
};

template <>
struct rigpact::StageElement<FTransform>
{
    using Number = float;
    static constexpr int kNumbers = 10;
    static void put(const FTransform& Transform, float* Out)
    {
        StageElement<FQuat>::put(Transform.GetRotation(), Out);
        StageElement<FVector>::put(Transform.GetTranslation(), Out + 4);
        StageElement<FVector>::put(Transform.GetScale3D(), Out + 7);
    }
};

namespace RigpactTrace
{
struct FRotationOf
{
    using Number = float;
    static constexpr int kNumbers = 4;
    static void put(const FTransform& Transform, float* Out) { rigpact::StageElement<FQuat>::put(Transform.GetRotation(), Out); }
};
}  // namespace RigpactTrace

namespace
{
constexpr bool bCanRecord = RIGPACT_TRACE != 0;

// No recording ever overwrites another one: two worlds may have objects of one name, and a second holds many switches.
FString OwnNumber()
{
    static std::atomic<int32> Recordings{0};
    const FString Process = FString::FromInt(static_cast<int32>(FPlatformProcess::GetCurrentProcessId()));
    return Process + TEXT("-") + FString::FromInt(++Recordings);
}
}  // namespace

struct FRigpactTraceState
{
    rigpact::Recorder Recorder;
    FString Name;
    rigpact::TraceHeader Header = {};
    FString Path;
    bool bIsConfigured = false;
    bool bRecords = false;   // between Open and Close, also where the file could not be opened
    bool bHasWarned = false;

    void Open(int32 Format)
    {
        const FString Folder = FPaths::ConvertRelativePathToFull(FPaths::ProjectSavedDir() / TEXT("Rigpact"));
        IFileManager::Get().MakeDirectory(*Folder, true);
        const FString Ending = Format == 2 ? TEXT(".trace.jsonl") : TEXT(".trace.bin");
        Path = Folder / (Name + TEXT("-") + FDateTime::Now().ToString() + TEXT("-") + OwnNumber() + Ending);
        rigpact::TraceOptions Options;
        Options.queue_frames = CVarRigpactTraceQueue.GetValueOnAnyThread();
        bRecords = true;
        bHasWarned = false;
        if (Recorder.open(TCHAR_TO_UTF8(*Path), Header, Options))
        {
            UE_LOG(LogRigpactTrace, Display, TEXT("recording %s"), *Path);
        }
        Warn();
    }

    void Close()
    {
        bRecords = false;
        Recorder.close();
        Warn();
        const rigpact::TraceCounts Counts = Recorder.counts();
        UE_LOG(LogRigpactTrace, Display, TEXT("%s: %lld frames, %lld dropped, %lld refused, %lld lost"), *Path,
               Counts.written, Counts.dropped, Counts.refused, Counts.lost);
    }

    // The first problem of a recording, once.
    void Warn()
    {
        const char* const Problem = bHasWarned ? nullptr : Recorder.problem();
        if (Problem != nullptr)
        {
            bHasWarned = true;
            UE_LOG(LogRigpactTrace, Error, TEXT("%s"), UTF8_TO_TCHAR(Problem));
        }
    }
};

FRigpactTrace::FRigpactTrace() : State(MakeUnique<FRigpactTraceState>()) {}

FRigpactTrace::~FRigpactTrace() { Stop(); }

void FRigpactTrace::Configure(const UObject* Owner, const rigpact::TraceHeader& Header)
{
    Stop();
    State->Name = FPaths::MakeValidFileName(Owner != nullptr ? Owner->GetName() : FString(TEXT("Unnamed")));
    State->Header = Header;
    State->bIsConfigured = true;
}

void FRigpactTrace::BeginFrame(int64 Frame, double TimeSeconds) const
{
    const int32 Format = CVarRigpactTrace.GetValueOnAnyThread();
    const bool bIsWanted = bCanRecord && Format != 0 && State->bIsConfigured;
    if (State->bRecords && !bIsWanted)
    {
        State->Close();
    }
    if (!State->bRecords && bIsWanted)
    {
        State->Open(Format);
    }
    if (State->bRecords)
    {
        State->Recorder.begin_frame(Frame, TimeSeconds);
    }
}

void FRigpactTrace::EndFrame() const
{
    if (State->bRecords && !State->Recorder.end_frame())
    {
        State->Warn();
    }
}

void FRigpactTrace::Stage(FRigpactStage Which, TArrayView<const float> Values) const
{
    if (State->bRecords) State->Recorder.stage(Which.Name, Values);
}

void FRigpactTrace::Stage(FRigpactStage Which, TArrayView<const double> Values) const
{
    if (State->bRecords) State->Recorder.stage(Which.Name, Values);
}

void FRigpactTrace::Stage(FRigpactStage Which, TArrayView<const FQuat> Values) const
{
    if (State->bRecords) State->Recorder.stage(Which.Name, Values);
}

void FRigpactTrace::Stage(FRigpactStage Which, TArrayView<const FVector> Values) const
{
    if (State->bRecords) State->Recorder.stage(Which.Name, Values);
}

void FRigpactTrace::Stage(FRigpactStage Which, TArrayView<const FTransform> Values) const
{
    if (State->bRecords) State->Recorder.stage(Which.Name, Values);
}

void FRigpactTrace::Rotations(FRigpactStage Which, TArrayView<const FTransform> Values) const
{
    if (State->bRecords) State->Recorder.stage<RigpactTrace::FRotationOf>(Which.Name, Values);
}

void FRigpactTrace::Stop() const
{
    if (State->bRecords) State->Close();
}

IMPLEMENT_MODULE(FDefaultModuleImpl, RigpactTrace)
