using UnrealBuildTool;

public class RigpactExample : ModuleRules
{
    public RigpactExample(ReadOnlyTargetRules Target) : base(Target)
    {
        FPSemantics = FPSemanticsMode.Precise;  // the loop must round as the reference does
        PCHUsage = PCHUsageMode.NoPCHs;         // which that needs
        PublicDependencyModuleNames.AddRange(new[] { "Core", "CoreUObject", "Engine", "NNE", "RigpactTrace" });
    }
}
