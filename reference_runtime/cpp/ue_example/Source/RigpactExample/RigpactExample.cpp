// The game's module. What a build machine plays: `-run=Rigpact -character=Enemy -clip=clip.csv`.
#include "Components/SkeletalMeshComponent.h"
#include "CoreMinimal.h"
#include "Modules/ModuleManager.h"
#include "UObject/Package.h"
#include "UObject/StrongObjectPtr.h"

#include "EnemyAnimInstance.h"

class FEnemyRun : public RigpactTrace::IRun
{
public:
    bool Load(const FString& Path)
    {
        if (!Clip.Load(Path)) return false;
        Mesh.Reset(NewObject<USkeletalMeshComponent>(GetTransientPackage()));
        Enemy.Reset(NewObject<UEnemyAnimInstance>(Mesh.Get()));
        Enemy->Played = &Clip;
        Enemy->NativeInitializeAnimation();
        return Enemy->IsReady();
    }
    virtual bool Step() override
    {
        if (Enemy->StepNumber() >= Clip.Rows.Num()) return false;
        Enemy->NativeUpdateAnimation(static_cast<float>(1.0 / rigpact_contract::kFps) + 1e-6f);
        return true;
    }
    virtual ~FEnemyRun() override
    {
        if (Enemy.IsValid()) Enemy->NativeUninitializeAnimation();
    }

private:
    FPlayedClip Clip;
    TStrongObjectPtr<USkeletalMeshComponent> Mesh;
    TStrongObjectPtr<UEnemyAnimInstance> Enemy;
};

class FRigpactExample : public FDefaultGameModuleImpl
{
public:
    virtual void StartupModule() override
    {
        RigpactTrace::RegisterRun(TEXT("Enemy"), [](const FString& Clip) -> TUniquePtr<RigpactTrace::IRun>
        {
            TUniquePtr<FEnemyRun> Run = MakeUnique<FEnemyRun>();
            return Run->Load(Clip) ? TUniquePtr<RigpactTrace::IRun>(MoveTemp(Run)) : nullptr;
        });
    }
};

IMPLEMENT_PRIMARY_GAME_MODULE(FRigpactExample, RigpactExample, "RigpactExample");
