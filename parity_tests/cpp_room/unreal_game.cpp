// Games on the stub of Unreal, recorded with the plug-in. unreal_game SCENARIO: prints Unreal's log.
#include <atomic>
#include <cstring>
#include <list>
#include <thread>

#include "RigpactTrace.h"

static_assert(FRigpactTrace::kRecords || std::is_empty_v<FRigpactTrace>, "a shipping build has nothing of it");

static rigpact::TraceHeader own_header() {
    rigpact::TraceHeader header = {"MyGame", "5.4", nullptr, 60.0, "free", nullptr};
    header.system = "studio";
    return header;
}
static const rigpact::TraceHeader Header = own_header();

class UEnemyAnim : public UAnimInstance {
public:
    explicit UEnemyAnim(UObject* Outer = nullptr, const TCHAR* Name = L"ABP_Enemy_C_0") : UAnimInstance(Name, Outer, L"ABP_Enemy_C") {}
    void NativeInitializeAnimation() override { Trace.Configure(this, Header); }
    void Step(int64 Frame, const char* Mode = nullptr) const {
        Trace.BeginFrame(Frame, static_cast<double>(Frame) / 60.0, Mode);
        Trace.Stage("number", {static_cast<float>(Frame), 0.5f});
        if (Mode != nullptr && std::strcmp(Mode, "teacher") == 0) Trace.Stage("target", {1.0f});
        Trace.EndFrame();
    }
    FRigpactTrace Trace;
};

// An actor with a mesh and an anim instance, as a level holds them.
struct Enemy {
    Enemy(UWorld* World, const TCHAR* Name, double X = 0, const TCHAR* Class = L"BP_Enemy_C")
        : Actor(Name, World, Class), Mesh(L"CharacterMesh0", &Actor), Anim(&Mesh) {
        Actor.location.X = X;
        Mesh.mesh = &Asset;
        Anim.NativeInitializeAnimation();
    }
    AActor Actor;
    USkeletalMesh Asset{L"SK_Enemy"};
    USkeletalMeshComponent Mesh;
    UEnemyAnim Anim;
};

template <class Value>
static void Console(const TCHAR* Name, Value Set) {
    if (IConsoleVariable* Variable = IConsoleManager::Get().FindConsoleVariable(Name)) Variable->Set(Set, ECVF_SetByCode);
    IConsoleManager::Get().CallAllConsoleVariableSinks();
}

static void console() {
    UEnemyAnim Wolf(nullptr, L"W\u00f6lf_C/3"), Twin(nullptr, L"W\u00f6lf_C/3"), Silent;
    Wolf.NativeInitializeAnimation(), Twin.NativeInitializeAnimation();
    int64 Frame = 0;
    const auto Play = [&](int32 Frames) {
        for (const int64 End = Frame + Frames; Frame < End; ++Frame) Wolf.Step(Frame), Twin.Step(Frame);
    };
    Play(3);  // off: nothing is written
    Console(L"rigpact.Trace", 1);
    Play(5);
    Console(L"rigpact.Trace", 0);
    Play(2);
    Console(L"rigpact.Trace.Queue", 0);
    Console(L"rigpact.Trace", 1);
    Play(4);
    Console(L"rigpact.Trace", 2);  // while it records
    Play(3);
    Silent.Step(0), Silent.Step(1);  // nobody configured it
}

static void choice() {
    UWorld Game(L"Arena", EWorldType::PIE, 1, NM_Client), Other(L"Arena", EWorldType::PIE, 0, NM_ListenServer);
    UWorld Preview(L"Preview", EWorldType::EditorPreview, -1, NM_Standalone);
    APlayerController Player;
    Game.player = Other.player = &Player;
    Player.view.X = 100;
    std::list<Enemy> All;
    for (int Index = 0; Index < 6; ++Index) {
        All.emplace_back(Index % 2 == 0 ? &Game : &Other, (L"BP_Enemy_C_" + std::to_wstring(Index)).c_str(), 30.0 * Index);
    }
    All.back().Actor.Tags.Add(FName(L"Boss"));
    All.emplace_back(&Game, L"BP_Hero_C_0", 1e6, L"BP_Hero_C");
    All.emplace_back(&Preview, L"BP_Enemy_C_0");
    int64 Frame = 0;
    const auto Play = [&](const char* Said) {
        std::printf("-- %s\n", Said);
        for (const int64 End = Frame + 2; Frame < End; ++Frame) {
            for (const Enemy& Each : All) Each.Anim.Step(Frame);
        }
        Console(L"rigpact.Trace", 0);
        for (const Enemy& Each : All) Each.Anim.Step(Frame);
        ++Frame;
    };
    const auto Begin = [] { Console(L"rigpact.Trace", 1); };
    Begin(), Play("all");
    Console(L"rigpact.Trace.Max", 100), Begin(), Play("Max");
    Console(L"rigpact.Trace.Class", L"Hero"), Begin(), Play("Class");
    Console(L"rigpact.Trace.Class", L""), Console(L"rigpact.Trace.Actor", L"Enemy_C_3"), Begin(), Play("Actor");
    Console(L"rigpact.Trace.Actor", L""), Console(L"rigpact.Trace.Tag", L"Boss"), Begin(), Play("Tag");
    Console(L"rigpact.Trace.Tag", L""), Console(L"rigpact.Trace.Nearest", 2), Begin(), Play("Nearest");
    Console(L"rigpact.Trace.Nearest", 0), Console(L"rigpact.Trace.Previews", 1), Begin(), Play("Previews");
    Console(L"rigpact.Trace.Max", 8), Begin();
    for (const TCHAR* Name : {L"BP_Late_C_1", L"BP_Late_C_2"}) All.emplace_back(&Game, Name);
    Play("late");
}

static void life() {
    UWorld Level(L"Level", EWorldType::Game, -1, NM_Standalone);
    Console(L"rigpact.Trace.Queue", 0);
    Console(L"rigpact.Trace", 1);
    Enemy One(&Level, L"BP_Enemy_C_0");
    const UEnemyAnim& Anim = One.Anim;
    for (int64 Frame = 0; Frame < 4; ++Frame) Anim.Step(Frame);
    for (int64 Frame = 0; Frame < 3; ++Frame) Anim.Step(Frame);                       // a respawn
    for (int64 Frame = 3; Frame < 6; ++Frame) Anim.Step(Frame, "teacher");            // another mode has another stage
    for (int64 Frame = 6; Frame < 8; ++Frame) Anim.Step(Frame, "free");
    Anim.Step(7);                                                                     // refused: it stands twice
    Anim.Trace.Stage("number", {1.0f, 2.0f});                                         // stray
    FRigpactTrace Copy = Anim.Trace;                                                  // the same recording
    Copy.BeginFrame(8, 8 / 60.0);
    Anim.Trace.Stage("number", {8.0f, 0.5f});
    Copy.EndFrame();
    FRigpactTrace Moved = MoveTemp(Copy);
    Moved.BeginFrame(9, 9 / 60.0, "warp");  // refused: no such mode
    Moved.Stage("number", {9.0f, 0.5f}).EndFrame();
}

static void types() {
    UEnemyAnim Anim;
    Anim.NativeInitializeAnimation();
    Console(L"rigpact.Trace", 2);
    const auto Frame = [&](int64 Number) {
        const FRigpactTrace& Trace = Anim.Trace;
        TArray<float> Row;
        TArray<FTransform> Transforms;
        TArray<FTransform3f> Small;
        for (int Index = 0; Index < 2; ++Index) {
            Row.Add(static_cast<float>(Index));
            Transforms.Add(FTransform(FQuat(0, 0, 1, 0), {1, 2, 3}, {4, 5, 6}));
            Small.Add(FTransform3f(FQuat4f(0, 1, 0, 0), {7, 8, 9}));
        }
        const double Clock[2] = {0.25, 0.5};
        const float Pose[2][3] = {{1, 2, 3}, {4, 5, 6}};
        const bool Feet[2] = {true, false};
        FMatrix Turned;
        Turned.M[0][1] = 7, Turned.M[3][0] = 8;
        Trace.BeginFrame(Number, static_cast<double>(Number));
        Trace.Stage("array", Row).Stage("view", TArrayView<const float>(Row)).Stage("list", {0.5f, 1.5f}).Stage("c_array", Clock);
        Trace.Stage("rows", Pose).Stage("feet", Feet).Stage("flag", true).Stage("count", 16777217).Stage("number", 0.5f);
        Trace.Stage("quat", FQuat(1, 2, 3, 4)).Stage("quat4f", FQuat4f(1, 2, 3, 4)).Stage("vector", FVector{1, 2, 3});
        Trace.Stage("rotator", FRotator{10, 20, 30}).Stage("matrix", Turned).Stage("transforms", Transforms).Stage("small", Small);
        Trace.Stage("vector2", {FVector2D{1, 2}, FVector2D{3, 4}}).Rotations("rotations", Transforms).Stage("some", Row.GetData(), 1);
        Trace.EndFrame();
    };
    Frame(0), Frame(1);
    Console(L"rigpact.Trace", 0);
    Frame(2);
}

// What the header of the plug-in allows, all at once: two workers record, one of them through a handle that outlives its object,
// while the game thread switches the console, ends files and configures again.
static void threads() {
    Console(L"rigpact.Trace", 1);
    UEnemyAnim Walking;
    auto Dying = std::make_unique<UEnemyAnim>();
    Walking.NativeInitializeAnimation(), Dying->NativeInitializeAnimation();
    std::atomic<bool> bGoesOn{true};
    const auto Animate = [&bGoesOn](FRigpactTrace Trace) {
        for (int64 Frame = 0; bGoesOn; ++Frame) {
            const double Number = static_cast<double>(Frame);
            Trace.BeginFrame(Frame, Number / 60.0, Frame / 50 % 2 == 0 ? "free" : "teacher");
            Trace.Stage("number", {Number, Number}).Stage("turn", FQuat(Number, Number, Number, Number));
            Trace.EndFrame();
        }
    };
    std::thread First(Animate, Walking.Trace), Second(Animate, Dying->Trace);
    for (int Round = 0; Round < 12; ++Round) {
        Console(L"rigpact.Trace", Round % 3);
        if (Round == 4) Dying.reset();
        if (Round % 4 == 1) Walking.Trace.Stop();
        if (Round % 5 == 2) Walking.NativeInitializeAnimation();
        const FRigpactTrace Copy = Walking.Trace;
        (void)Copy;
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    bGoesOn = false;
    First.join(), Second.join();
}

int main(int, char** Words) {
    const std::map<std::string, void (*)()> Scenarios = {{"console", console}, {"choice", choice}, {"life", life}, {"types", types}, {"threads", threads}};
    Scenarios.at(Words[1])();
    return 0;
}
