// A character with the plug-in's FRigpactTrace, and a console that switches it. unreal_game: prints Unreal's log.
#include "RigpactTrace.h"

class UCharacterLoop : public UObject {
public:
    explicit UCharacterLoop(const TCHAR* name, const rigpact::TraceHeader& header) : UObject(name) { Trace.Configure(this, header); }

    void Step(int32 Frame) const {
        TArray<float> YRaw;
        TArray<FQuat> Quats;
        TArray<FTransform> Transforms;
        TArray<FVector> Feet;
        for (int32 Index = 0; Index < 2; ++Index) {
            YRaw.Add(static_cast<float>(Frame) + 0.5f);
            Quats.Add(FQuat(0.1 * Index, 0.2, 0.3, 1.0));
            Transforms.Add(FTransform(FQuat(0, 0, 1, 0), {1.0 * Frame, 2, 3}, {4, 5, 6}));
            Feet.Add({7, 8, 9});
        }
        const double Clock[1] = {Frame / 4.0};
        Trace.BeginFrame(Frame, Frame / 60.0);
        Trace.Stage("pose", Transforms);
        Trace.Rotations(rigpact::Stage::quat, Transforms);
        Trace.Stage("turns", Quats);
        Trace.Stage(rigpact::Stage::y_raw, YRaw);
        Trace.Stage("feet", Feet);
        Trace.Stage("clock", Clock);
        Trace.EndFrame();
    }

private:
    FRigpactTrace Trace;
};

static void Console(const TCHAR* Name, int32 Value) { *unreal_stub::variables.at(Name) = Value; }

int main() {
    rigpact::TraceHeader Header = {"MyGame", "5.4", nullptr, 60.0, "free", nullptr};
    Header.system = "studio";
    const UCharacterLoop Wolf(L"W\u00f6lf_C/3", Header), Twin(L"W\u00f6lf_C/3", Header), Silent(L"Silent", Header);
    int32 Frame = 0;
    const auto Play = [&](int32 Frames) {
        for (const int32 End = Frame + Frames; Frame < End; ++Frame) Wolf.Step(Frame), Twin.Step(Frame);
    };
    Play(3);  // off: nothing is written
    Console(L"rigpact.Trace", 1);
    Play(5);
    Console(L"rigpact.Trace", 0);
    Play(2);
    Console(L"rigpact.Trace", 2);
    Console(L"rigpact.Trace.Queue", 64);
    Play(4);
    return 0;
}
