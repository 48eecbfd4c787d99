// `UnrealEditor-Cmd MyGame.uproject -run=Rigpact -character=Enemy -clip=Walk_Spin.json -frames=600`: plays what RegisterRun() named,
// records it into Saved/Rigpact without a queue, and returns 0 where every frame was written. No player, no window.
#pragma once

#include "Commandlets/Commandlet.h"
#include "CoreMinimal.h"

#include "RigpactCommandlet.generated.h"

UCLASS()
class RIGPACTTRACE_API URigpactCommandlet : public UCommandlet
{
    GENERATED_BODY()

public:
    virtual int32 Main(const FString& Params) override;
};
