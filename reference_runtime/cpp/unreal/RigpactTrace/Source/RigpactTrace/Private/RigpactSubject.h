// Which character it is: actor, world, play session, side of the network, assets. Everything here belongs to the game thread.
#pragma once

#include "Components/SkeletalMeshComponent.h"
#include "CoreMinimal.h"
#include "Engine/SkeletalMesh.h"
#include "Engine/World.h"
#include "GameFramework/Actor.h"
#include "GameFramework/PlayerController.h"
#include "UObject/Class.h"
#include "UObject/Package.h"
#include "UObject/WeakObjectPtr.h"

struct FRigpactSubject
{
    explicit FRigpactSubject(const UObject* InOwner) : Owner(InOwner), bHasOwner(InOwner != nullptr)
    {
        const UWorld* const World = InOwner != nullptr ? InOwner->GetWorld() : nullptr;
        const AActor* const Actor = ActorOf(InOwner);
        bIsPreview = World != nullptr && World->WorldType != EWorldType::Game && World->WorldType != EWorldType::PIE;
        Add(TEXT("object"), InOwner != nullptr ? InOwner->GetName() : FString(TEXT("Unnamed")));
        if (InOwner != nullptr) Add(TEXT("class"), InOwner->GetClass()->GetPathName());
        if (Actor != nullptr) Add(TEXT("actor"), Actor->GetName());
        if (Actor != nullptr) Add(TEXT("actor_class"), Actor->GetClass()->GetPathName());
        const USkeletalMeshComponent* const Mesh = InOwner != nullptr ? InOwner->GetTypedOuter<USkeletalMeshComponent>() : nullptr;
        if (Mesh != nullptr && Mesh->GetSkeletalMeshAsset() != nullptr) Add(TEXT("mesh"), Mesh->GetSkeletalMeshAsset()->GetPathName());
        FileName = (Actor != nullptr ? Actor->GetName() + TEXT(".") : FString()) + Values[0];
        if (World == nullptr) return;
        const int32 Session = World->GetOutermost()->GetPIEInstanceID();
        Add(TEXT("world"), World->GetMapName());
        FileName = FileName + TEXT("-") + World->GetMapName();
        if (Session >= 0) Add(TEXT("pie"), FString::FromInt(Session)), FileName = FileName + TEXT("-pie") + FString::FromInt(Session);
        Add(TEXT("net_mode"), NetMode(World->GetNetMode()));
        FileName = FileName + TEXT("-") + Values.Last();
    }

    // Whether class, actor and tag are what the console variables ask for; empty: any.
    bool Fits(const FString& Class, const FString& ActorName, const FString& Tag) const
    {
        const UObject* const Object = Owner.Get();
        if (Object == nullptr) return Class.IsEmpty() && ActorName.IsEmpty() && Tag.IsEmpty();
        const AActor* const Actor = ActorOf(Object);
        const bool bIsClass = Object->GetClass()->GetName().Contains(Class) || (Actor != nullptr && Actor->GetClass()->GetName().Contains(Class));
        if (!Class.IsEmpty() && !bIsClass) return false;
        if (!ActorName.IsEmpty() && (Actor == nullptr || !Actor->GetName().Contains(ActorName))) return false;
        return Tag.IsEmpty() || (Actor != nullptr && Actor->Tags.Contains(FName(*Tag)));
    }

    bool IsGone() const { return bHasOwner && Owner.Get() == nullptr; }

    // To the view of the first player of its world; the largest number where there is none.
    double SquaredDistance() const
    {
        const UObject* const Object = Owner.Get();
        const AActor* const Actor = ActorOf(Object);
        const UWorld* const World = Object != nullptr ? Object->GetWorld() : nullptr;
        const APlayerController* const Player = World != nullptr ? World->GetFirstPlayerController() : nullptr;
        if (Actor == nullptr || Player == nullptr) return TNumericLimits<double>::Max();
        FVector From;
        FRotator Turned;
        Player->GetPlayerViewPoint(From, Turned);
        return FVector::DistSquared(Actor->GetActorLocation(), From);
    }

    TWeakObjectPtr<const UObject> Owner;
    bool bHasOwner;
    bool bIsPreview = false;
    FString FileName;
    TArray<FString> Keys, Values;

private:
    static const AActor* ActorOf(const UObject* Object)
    {
        if (Object == nullptr) return nullptr;
        const AActor* const Own = Cast<AActor>(Object);
        return Own != nullptr ? Own : Object->GetTypedOuter<AActor>();
    }
    static FString NetMode(ENetMode Mode)
    {
        switch (Mode)
        {
            case NM_DedicatedServer: return TEXT("server");
            case NM_ListenServer: return TEXT("listen");
            case NM_Client: return TEXT("client");
            default: return TEXT("standalone");
        }
    }
    void Add(const TCHAR* Key, const FString& Value) { Keys.Add(Key), Values.Add(Value); }
};
