#include "RigpactTrace.h"

#include "Modules/ModuleManager.h"

#if RIGPACT_TRACE
#include "GenericPlatform/GenericPlatformFile.h"
#include "HAL/FileManager.h"
#include "HAL/IConsoleManager.h"
#include "HAL/PlatformFileManager.h"
#include "HAL/PlatformMisc.h"
#include "HAL/PlatformProcess.h"
#include "Misc/DateTime.h"
#include "Misc/Paths.h"
#include "Misc/ScopeLock.h"

#include "RigpactSubject.h"

#include <atomic>

DEFINE_LOG_CATEGORY_STATIC(LogRigpactTrace, Log, All);

static TAutoConsoleVariable<int32> CVarTrace(
    TEXT("rigpact.Trace"), 0,
    TEXT("1: the chosen characters with an FRigpactTrace record into Saved/Rigpact (.trace.bin). 2: as text (.trace.jsonl). 0: off."));
static TAutoConsoleVariable<int32> CVarQueue(
    TEXT("rigpact.Trace.Queue"), -1,
    TEXT("n: a thread writes, and a full queue of n frames drops the next. 0: a frame is written before EndFrame returns, so a crash ")
        TEXT("loses none. -1: 64 in a game, 0 in a commandlet."));
static TAutoConsoleVariable<int32> CVarMax(TEXT("rigpact.Trace.Max"), 4, TEXT("At most so many characters record at once."));
static TAutoConsoleVariable<int32> CVarNearest(
    TEXT("rigpact.Trace.Nearest"), 0, TEXT("n: the n characters nearest to the first player's view, when the variable changes. 0: any."));
static TAutoConsoleVariable<int32> CVarPreviews(TEXT("rigpact.Trace.Previews"), 0, TEXT("1: previews of the editor record too."));
static TAutoConsoleVariable<FString> CVarClass(
    TEXT("rigpact.Trace.Class"), TEXT(""), TEXT("Only objects or actors whose class name contains this."));
static TAutoConsoleVariable<FString> CVarActor(TEXT("rigpact.Trace.Actor"), TEXT(""), TEXT("Only actors whose name contains this."));
static TAutoConsoleVariable<FString> CVarTag(TEXT("rigpact.Trace.Tag"), TEXT(""), TEXT("Only actors with this tag."));

namespace
{
// The engine's own file interface: a path of Android, iOS or a console is none of the C library's.
class FEngineFile final : public rigpact::TraceOutput
{
public:
    virtual const char* open(const char* Path) override
    {
        Handle.Reset(FPlatformFileManager::Get().GetPlatformFile().OpenWrite(UTF8_TO_TCHAR(Path), false, true));  // others may read it
        return Handle.IsValid() ? nullptr : "the engine cannot open the file";
    }
    virtual bool put(const void* Data, std::size_t Size) override
    {
        return Handle.IsValid() && Handle->Write(static_cast<const uint8*>(Data), static_cast<int64>(Size));
    }
    virtual bool close() override
    {
        Handle.Reset();
        return true;
    }

private:
    TUniquePtr<IFileHandle> Handle;
};

// No recording ever overwrites another one: two worlds may have objects of one name, and a second holds many switches.
FString OwnNumber()
{
    static std::atomic<int32> Recordings{0};
    const FString Process = FString::FromInt(static_cast<int32>(FPlatformProcess::GetCurrentProcessId()));
    return Process + TEXT("-") + FString::FromInt(++Recordings);
}

std::atomic<int64> Written{0}, Other{0};

struct FAsked
{
    int32 Format = 0, Max = 0, Nearest = 0, Previews = 0;
    FString Class, Actor, Tag;

    static FAsked Now()
    {
        return {CVarTrace.GetValueOnGameThread(), CVarMax.GetValueOnGameThread(), CVarNearest.GetValueOnGameThread(),
                CVarPreviews.GetValueOnGameThread(), CVarClass.GetValueOnGameThread(), CVarActor.GetValueOnGameThread(),
                CVarTag.GetValueOnGameThread()};
    }
    bool operator==(const FAsked& That) const
    {
        return Format == That.Format && Max == That.Max && Nearest == That.Nearest && Previews == That.Previews && Class == That.Class
            && Actor == That.Actor && Tag == That.Tag;
    }
};

// Every configured character; whoever is chosen has a format. Its lock is taken before that of a character.
struct FChoice
{
    FCriticalSection Lock;
    TArray<FRigpactTraceState*> All;
    FAsked Asked;
    bool bSaidFull = false;

    static FChoice& Get()
    {
        static FChoice* const Own = new FChoice;  // outlives every character
        return *Own;
    }
    void Add(FRigpactTraceState* State);
    void Remove(FRigpactTraceState* State);
    void ChooseAnew();

private:
    bool Fits(const FRigpactTraceState& State) const;
    int32 Chosen();
};
}  // namespace

struct FRigpactTraceState
{
    rigpact::Recorder Recorder;
    std::atomic<int32> Wanted{0};  // the format; 0: none
    std::atomic<int32> Open{0};    // that of the file that is open, or could not be opened

    FCriticalSection Lock;  // of all below
    FEngineFile File;
    FRigpactSubject Subject{nullptr};
    rigpact::TraceHeader Header = {};
    FString Path;
    bool bHasWarned = false;

    ~FRigpactTraceState()
    {
        FChoice::Get().Remove(this);
        Close();
    }

    // Between two frames: begins and ends files.
    void Follow()
    {
        const int32 Format = Wanted;
        if (Format == Open) return;
        FScopeLock Locked(&Lock);
        Close();
        if (Format != 0) Start(Format);
    }

    void Close()
    {
        FScopeLock Locked(&Lock);
        if (Open == 0) return;
        Open = 0;
        Recorder.close();
        Warn();
        const rigpact::TraceCounts Counts = Recorder.counts();
        UE_LOG(LogRigpactTrace, Display, TEXT("%s: %lld frames in %lld segments, %lld dropped, %lld refused, %lld lost, %lld stray stages"), *Path,
               Counts.written, Counts.segments, Counts.dropped, Counts.refused, Counts.lost, Counts.stray);
        Written += Counts.written;
        Other += Counts.dropped + Counts.refused + Counts.lost + Counts.stray;
    }

    // The first problem of a recording, once.
    void Warn()
    {
        FScopeLock Locked(&Lock);
        const char* const Problem = bHasWarned ? nullptr : Recorder.problem();
        if (Problem == nullptr) return;
        bHasWarned = true;
        UE_LOG(LogRigpactTrace, Error, TEXT("%s"), UTF8_TO_TCHAR(Problem));
    }

private:
    void Start(int32 Format)
    {
        const FString Folder = FPaths::ConvertRelativePathToFull(FPaths::ProjectSavedDir() / TEXT("Rigpact"));
        IFileManager::Get().MakeDirectory(*Folder, true);
        const FString Name = FPaths::MakeValidFileName(Subject.FileName) + TEXT("-") + FDateTime::Now().ToString() + TEXT("-") + OwnNumber();
        Path = Folder / (Name + (Format == 2 ? TEXT(".trace.jsonl") : TEXT(".trace.bin")));
        std::vector<std::string> Texts;
        for (const TArray<FString>* Part : {&Subject.Keys, &Subject.Values})
        {
            for (const FString& Text : *Part) Texts.emplace_back(TCHAR_TO_UTF8(*Text));
        }
        std::vector<rigpact::TraceFact> About;
        const std::size_t Count = Texts.size() / 2;
        for (std::size_t Index = 0; Index < Count; ++Index) About.push_back({Texts[Index].c_str(), Texts[Count + Index].c_str()});
        rigpact::TraceHeader Own = Header;
        Own.about = About.data();
        Own.about_count = static_cast<int>(Count);
        const int32 Queue = CVarQueue.GetValueOnAnyThread();
        rigpact::TraceOptions Options;
        Options.queue_frames = Queue >= 0 ? Queue : IsRunningCommandlet() ? 0 : 64;
        Options.output = &File;
        Open = Format;
        bHasWarned = false;
        if (Recorder.open(TCHAR_TO_UTF8(*Path), Own, Options))
        {
            UE_LOG(LogRigpactTrace, Display, TEXT("recording %s"), *Path);
        }
        Warn();
    }
};

namespace
{
bool FChoice::Fits(const FRigpactTraceState& State) const
{
    return State.Subject.Fits(Asked.Class, Asked.Actor, Asked.Tag) && (Asked.Previews != 0 || !State.Subject.bIsPreview);
}

int32 FChoice::Chosen()
{
    int32 Count = 0;
    for (FRigpactTraceState* Each : All)
    {
        if (Each->Subject.IsGone()) Each->Wanted = 0;  // waits for the garbage collector: its place is free
        Count += Each->Wanted != 0;
    }
    return Count;
}

void FChoice::Add(FRigpactTraceState* State)
{
    const FAsked Now = FAsked::Now();
    FScopeLock Locked(&Lock);
    All.AddUnique(State);
    if (!(Now == Asked)) return ChooseAnew();
    const int32 Most = Asked.Nearest > 0 && Asked.Nearest < Asked.Max ? Asked.Nearest : Asked.Max;
    if (Asked.Format == 0 || State->Wanted != 0 || !Fits(*State)) return;
    if (Chosen() < Most)
    {
        State->Wanted = Asked.Format;
    }
    else if (!bSaidFull)
    {
        bSaidFull = true;
        UE_LOG(LogRigpactTrace, Warning, TEXT("rigpact.Trace: %s and later ones do not record: %d do already"), *State->Subject.FileName, Most);
    }
}

void FChoice::Remove(FRigpactTraceState* State)
{
    FScopeLock Locked(&Lock);
    All.RemoveSwap(State);
}

void FChoice::ChooseAnew()
{
    const FAsked Now = FAsked::Now();
    FScopeLock Locked(&Lock);
    if (Now == Asked) return;
    const int32 Before = Asked.Format;
    Asked = Now;
    bSaidFull = false;
    if (Asked.Format == 0 && Before == 0) return;
    TArray<FRigpactTraceState*> Fitting;
    for (FRigpactTraceState* Each : All)
    {
        if (Asked.Format != 0 && Fits(*Each)) Fitting.Add(Each);
        else Each->Wanted = 0;
    }
    if (Asked.Nearest > 0)
    {
        Fitting.StableSort([](const FRigpactTraceState& A, const FRigpactTraceState& B)
                           { return A.Subject.SquaredDistance() < B.Subject.SquaredDistance(); });
    }
    else  // who records goes on
    {
        Fitting.StableSort([](const FRigpactTraceState& A, const FRigpactTraceState& B) { return A.Wanted != 0 && B.Wanted == 0; });
    }
    const int32 Most = Asked.Nearest > 0 && Asked.Nearest < Asked.Max ? Asked.Nearest : Asked.Max;
    for (int32 Index = 0; Index < Fitting.Num(); ++Index) Fitting[Index]->Wanted = Index < Most ? Asked.Format : 0;
    if (Asked.Format == 0 || All.Num() == 0) return;
    UE_LOG(LogRigpactTrace, Display, TEXT("rigpact.Trace: %d of %d characters record; %d fit, at most %d record (rigpact.Trace.Max, .Nearest, .Class, .Actor, .Tag, .Previews)"),
           Chosen(), All.Num(), Fitting.Num(), Most);
}

void VariablesChanged() { FChoice::Get().ChooseAnew(); }
FAutoConsoleVariableSink Sink(FConsoleCommandDelegate::CreateStatic(&VariablesChanged));
}  // namespace

void FRigpactTrace::Configure(const UObject* Owner, const rigpact::TraceHeader& Header)
{
    if (!State.IsValid()) State = MakeShared<FRigpactTraceState, ESPMode::ThreadSafe>();
    State->Close();
    {
        FScopeLock Choosing(&FChoice::Get().Lock);
        FScopeLock Locked(&State->Lock);
        State->Subject = FRigpactSubject(Owner);
        State->Header = Header;
    }
    FChoice::Get().Add(State.Get());
}

void FRigpactTrace::BeginFrame(int64 Frame, double TimeSeconds, const char* Mode) const
{
    if (!State.IsValid())
    {
        static std::atomic<bool> bHasSaid{false};
        if (CVarTrace.GetValueOnAnyThread() != 0 && !bHasSaid.exchange(true))
        {
            UE_LOG(LogRigpactTrace, Warning, TEXT("an FRigpactTrace records nothing: nobody called its Configure()"));
        }
        return;
    }
    State->Follow();
    State->Recorder.begin_frame(Frame, TimeSeconds, Mode);
}

void FRigpactTrace::EndFrame() const
{
    if (State.IsValid() && !State->Recorder.end_frame() && State->Open != 0) State->Warn();
}

void FRigpactTrace::Stop() const
{
    if (State.IsValid()) State->Close();
}

void FRigpactTrace::listen(rigpact::StageListener* Listener) const
{
    if (State.IsValid()) State->Recorder.listen(Listener);
}

const rigpact::Recorder* FRigpactTrace::GetRecorder() const { return State.IsValid() ? &State->Recorder : nullptr; }

RigpactTrace::FCounts RigpactTrace::TakeCounts() { return {Written.exchange(0), Other.exchange(0)}; }
#else
RigpactTrace::FCounts RigpactTrace::TakeCounts() { return {}; }
#endif

static TMap<FString, RigpactTrace::FMakeRun>& Runs()
{
    static TMap<FString, RigpactTrace::FMakeRun> Own;
    return Own;
}

void RigpactTrace::RegisterRun(const FString& Name, FMakeRun Make) { Runs().Add(Name, MoveTemp(Make)); }

TUniquePtr<RigpactTrace::IRun> RigpactTrace::MakeRun(const FString& Name, const FString& Clip)
{
    const FMakeRun* const Make = Runs().Find(Name);
    return Make != nullptr ? (*Make)(Clip) : nullptr;
}

IMPLEMENT_MODULE(FDefaultModuleImpl, RigpactTrace)
