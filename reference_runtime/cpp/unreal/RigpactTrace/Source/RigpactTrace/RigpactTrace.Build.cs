using UnrealBuildTool;

public class RigpactTrace : ModuleRules
{
    public RigpactTrace(ReadOnlyTargetRules Target) : base(Target)
    {
        // Unreal compiles with /fp:fast or -ffast-math unless a module asks for precise maths, and that needs a PCH of its own.
        // The recorder looks at the bits of a number and is right under both; precise maths keeps the rest of it literal too.
        FPSemantics = FPSemanticsMode.Precise;
        PCHUsage = PCHUsageMode.NoPCHs;

        // Without this in a shipping build, FRigpactTrace does nothing and writes nothing.
        bool bRecords = Target.Configuration != UnrealTargetConfiguration.Shipping;
        PrivateDefinitions.Add("RIGPACT_TRACE=" + (bRecords ? "1" : "0"));

        if (Target.Platform.IsInGroup(UnrealPlatformGroup.Windows))
        {
            // The recorder is C++17 without Unreal: it opens its file by the C library.
            PrivateDefinitions.Add("_CRT_SECURE_NO_WARNINGS=1");
        }

        PublicDependencyModuleNames.AddRange(new string[] { "Core", "CoreUObject" });
    }
}
