using UnrealBuildTool;

public class RigpactTrace : ModuleRules
{
    public RigpactTrace(ReadOnlyTargetRules Target) : base(Target)
    {
        // USkeletalMeshComponent::GetSkeletalMeshAsset() and the float variants of the maths types.
        if (Target.Version.MajorVersion < 5 || (Target.Version.MajorVersion == 5 && Target.Version.MinorVersion < 1))
        {
            throw new BuildException("RigpactTrace needs Unreal Engine 5.1 or later");
        }

        // Unreal compiles with /fp:fast or -ffast-math unless a module asks for precise maths, and that needs a PCH of its own.
        // The recorder looks at the bits of a number and is right under both; precise maths keeps the rest of it literal too.
        FPSemantics = FPSemanticsMode.Precise;
        PCHUsage = PCHUsageMode.NoPCHs;

        // Public: without it, in a shipping build, FRigpactTrace is an empty class in the game's own code.
        bool bRecords = Target.Configuration != UnrealTargetConfiguration.Shipping;
        PublicDefinitions.Add("RIGPACT_TRACE=" + (bRecords ? "1" : "0"));

        if (Target.Platform.IsInGroup(UnrealPlatformGroup.Windows))
        {
            // The recorder's own file, which the plug-in does not use, is opened by the C library.
            PublicDefinitions.Add("_CRT_SECURE_NO_WARNINGS=1");
        }

        PublicDependencyModuleNames.AddRange(new string[] { "Core", "CoreUObject", "Engine" });
    }
}
