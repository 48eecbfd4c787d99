#include "RigpactCommandlet.h"

#include "HAL/IConsoleManager.h"
#include "Misc/Parse.h"

#include "RigpactTrace.h"

DEFINE_LOG_CATEGORY_STATIC(LogRigpactCommandlet, Log, All);

static void SetVariable(const TCHAR* Name, int32 Value)
{
    if (IConsoleVariable* const Variable = IConsoleManager::Get().FindConsoleVariable(Name)) Variable->Set(Value, ECVF_SetByCode);
}

int32 URigpactCommandlet::Main(const FString& Params)
{
    FString Character, Clip;
    int32 Frames = 0;
    FParse::Value(*Params, TEXT("character="), Character);
    FParse::Value(*Params, TEXT("clip="), Clip);
    FParse::Value(*Params, TEXT("frames="), Frames);
    SetVariable(TEXT("rigpact.Trace"), FParse::Param(*Params, TEXT("text")) ? 2 : 1);
    SetVariable(TEXT("rigpact.Trace.Previews"), 1);
    IConsoleManager::Get().CallAllConsoleVariableSinks();
    RigpactTrace::TakeCounts();
    TUniquePtr<RigpactTrace::IRun> Run = RigpactTrace::MakeRun(Character, Clip);
    if (!Run.IsValid())
    {
        UE_LOG(LogRigpactCommandlet, Error, TEXT("nothing to play: -character=%s -clip=%s"), *Character, *Clip);
        return 1;
    }
    int32 Played = 0;
    while ((Frames <= 0 || Played < Frames) && Run->Step()) ++Played;
    Run.Reset();
    const RigpactTrace::FCounts Counts = RigpactTrace::TakeCounts();
    UE_LOG(LogRigpactCommandlet, Display, TEXT("%d steps, %lld frames recorded, %lld not"), Played, Counts.Written, Counts.Other);
    return Counts.Written > 0 && Counts.Other == 0 ? 0 : 2;
}
