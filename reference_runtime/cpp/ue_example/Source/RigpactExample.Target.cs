using UnrealBuildTool;

public class RigpactExampleTarget : TargetRules
{
    public RigpactExampleTarget(TargetInfo Target) : base(Target)
    {
        Type = TargetType.Game;
        DefaultBuildSettings = BuildSettingsVersion.Latest;
        IncludeOrderVersion = EngineIncludeOrderVersion.Latest;
        ExtraModuleNames.Add("RigpactExample");
    }
}
